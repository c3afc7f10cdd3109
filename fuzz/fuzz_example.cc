#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "headrace/record/example.h"
#include "headrace/record/example_decoder.h"

namespace headrace {
namespace {

// Bit patterns, so that NaN equals itself.
template <typename T>
bool equal_values(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
bool equal_values(const std::vector<BytesView>& a, const std::vector<BytesView>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](BytesView x, BytesView y) { return as_text(x) == as_text(y); });
}

Bytes build(const std::vector<Feature>& features) {
  ExampleBuilder builder;
  for (const Feature& feature : features) {
    if (const auto* texts = std::get_if<1>(&feature.values)) builder.add_bytes_list(feature.name, *texts);
    if (const auto* floats = std::get_if<2>(&feature.values)) builder.add_floats(feature.name, *floats);
    if (const auto* integers = std::get_if<3>(&feature.values)) builder.add_int64s(feature.name, *integers);
  }
  Bytes out;
  builder.append_to(out);
  return out;
}

void check_rebuilt(const std::vector<Feature>& features) {
  const Bytes record = build(features);
  const Result<std::vector<Feature>> again = parse_example(record);
  if (!again) std::abort();
  std::size_t next = 0;
  for (const Feature& feature : features) {
    if (feature.values.index() == 0) continue;  // of no kind: the builder has no such thing
    const Feature& other = (*again)[next++];
    if (feature.name != other.name || feature.values.index() != other.values.index()) std::abort();
    const bool equal = std::visit(
        [&](const auto& values) {
          using Values = std::decay_t<decltype(values)>;
          if constexpr (std::is_same_v<Values, std::monostate>) {
            return true;
          } else {
            return equal_values(values, std::get<Values>(other.values));
          }
        },
        feature.values);
    if (!equal) std::abort();
  }
}

// A ragged column for each feature gives the parser's values.
void check_decoded(BytesView record, const std::vector<Feature>& features) {
  std::vector<Column> columns;
  std::vector<std::vector<float>> floats(features.size());
  std::vector<std::vector<std::int64_t>> integers(features.size());
  std::vector<std::vector<BytesView>> texts(features.size());
  std::vector<ColumnBuffer> buffers;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const std::size_t kind = std::max<std::size_t>(features[i].values.index(), 1);
    columns.push_back({features[i].name, kFeatureTypes[kind - 1], std::nullopt, false});
    if (kind == 1) buffers.emplace_back(&texts[i]);
    if (kind == 2) buffers.emplace_back(&floats[i]);
    if (kind == 3) buffers.emplace_back(&integers[i]);
  }
  Result<ExampleDecoder> decoder = ExampleDecoder::create(columns);
  if (!decoder || !decoder->decode(record, buffers, 0)) std::abort();
  for (std::size_t i = 0; i < features.size(); ++i) {
    const auto& values = features[i].values;
    if (values.index() == 1 && !equal_values(std::get<1>(values), texts[i])) std::abort();
    if (values.index() == 2 && !equal_values(std::get<2>(values), floats[i])) std::abort();
    if (values.index() == 3 && !equal_values(std::get<3>(values), integers[i])) std::abort();
  }
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  const BytesView record = std::as_bytes(std::span(data, size));
  std::vector<float> sentence(9);
  std::vector<std::int64_t> labels(5);
  std::vector<BytesView> text(3);
  static ExampleDecoder decoder = *ExampleDecoder::create(
      {{"a", DataType::kFloat32, 4}, {"b", DataType::kInt64, 2, false}, {"", DataType::kBytes, 1, false}});
  const std::vector<ColumnBuffer> buffers = {sentence.data(), labels.data(), text.data()};
  (void)decoder.decode(record, buffers, 1);
  if (sentence[3] != 0 || sentence[8] != 0 || labels[1] != 0 || labels[4] != 0) std::abort();

  const Result<std::vector<Feature>> features = parse_example(record);
  if (!features) return 0;
  check_rebuilt(*features);
  check_decoded(record, *features);
  return 0;
}

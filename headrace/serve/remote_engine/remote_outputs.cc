#include "headrace/serve/remote_engine/remote_outputs.h"

#include <cstring>

#include "headrace/base/text.h"
#include "headrace/serve/batch/row_layout.h"

namespace headrace {
namespace {

constexpr std::uint64_t kTextsMax = 16 << 20;  // in one output: each takes 16 bytes here

Error bad_output(std::string_view name, std::string_view what) {
  return {Code::kDataLoss, concat("the engine process sent an invalid answer: the output ", name, " ", what)};
}

// The size of the output's values; nullopt: larger than the memory.
std::optional<std::uint64_t> values_within(const PlacedOutput& output, std::uint64_t memory_bytes) {
  std::uint64_t size =
      output.type == DataType::kBytes ? sizeof(TextPlace) : data_type_size_bytes(output.type);
  for (const std::int64_t each : output.shape.sizes()) {
    const auto factor = static_cast<std::uint64_t>(each);
    if (factor != 0 && size > memory_bytes / factor) return std::nullopt;
    size *= factor;
  }
  return size;
}

bool lies_within(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

Shape with_only_row(const Shape& shape) {
  std::vector<std::int64_t> sizes = {1};
  sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
  return Shape(sizes);
}

struct TextsOfOutputs {
  std::shared_ptr<const void> memory;
  std::vector<std::vector<std::string_view>> views;
};

class OutputReader {
 public:
  OutputReader(BytesView memory, TextsOfOutputs& texts) : memory_(memory), texts_(texts) {}

  Result<TensorView> read(const PlacedOutput& output, std::string_view name, const Shape& shape) {
    const auto size = values_within(output, memory_.size());
    const bool is_there = size && lies_within(output.offset_bytes, *size, memory_.size()) &&
                          output.offset_bytes % kTensorAlignment == 0;
    if (!is_there) return bad_output(name, "lies outside its memory");
    const std::byte* const data = memory_.data() + output.offset_bytes;
    if (output.type != DataType::kBytes) return TensorView{output.type, shape, data, {}};
    if (!lies_within(output.texts_offset_bytes, output.texts_bytes, memory_.size()))
      return bad_output(name, "has texts outside its memory");
    const std::string_view texts = as_text(memory_).substr(output.texts_offset_bytes, output.texts_bytes);
    if (*size / sizeof(TextPlace) > kTextsMax) return bad_output(name, "has too many texts");
    std::vector<std::string_view>& views = texts_.views.emplace_back();
    for (std::uint64_t at = 0; at < *size; at += sizeof(TextPlace)) {
      TextPlace place;  // copied before the check: the memory may change in the meantime
      std::memcpy(&place, data + at, sizeof place);
      if (!lies_within(place.offset_bytes, place.size_bytes, texts.size()))
        return bad_output(name, "has a text outside its texts");
      views.push_back(texts.substr(place.offset_bytes, place.size_bytes));
    }
    return TensorView::of(views, shape);
  }

 private:
  const BytesView memory_;
  TextsOfOutputs& texts_;
};

}  // namespace

Result<BatchOutputs> read_outputs(const ServedSignature& signature, const std::vector<PlacedOutput>& placed,
                                  BytesView memory, std::uint64_t rows, std::shared_ptr<const void> owner) {
  const std::size_t count = signature.outputs.size();
  if (placed.size() != count && placed.size() != count + 1) return bad_output("list", "has a wrong length");
  auto texts = std::make_shared<TextsOfOutputs>(TextsOfOutputs{std::move(owner), {}});
  texts->views.reserve(placed.size());  // tensors point to its elements
  OutputReader reader(memory, *texts);
  BatchOutputs out;
  for (std::size_t i = 0; i < count; ++i) {
    const ServedTensor& expected = signature.outputs[i];
    const Shape& shape = placed[i].shape;
    const bool has_rows = !signature.is_batched || shape[0] == static_cast<std::int64_t>(rows);
    if (placed[i].type != expected.type || !expected.shape.accepts(shape) || !has_rows) {
      return bad_output(expected.name, concat("is ", data_type_name(placed[i].type), shape.text(), ", not ",
                                              data_type_name(expected.type), expected.shape.text()));
    }
    if (!signature.is_batched && shape.rank() == Shape::kRankMax)
      return bad_output(expected.name, concat("has the rank ", shape.rank(), ", which is too high"));
    HEADRACE_TRY(TensorView tensor,
                 reader.read(placed[i], expected.name, signature.is_batched ? shape : with_only_row(shape)));
    out.tensors.push_back(tensor);
  }
  if (placed.size() > count) {
    constexpr std::string_view kFailures = "of failed rows";
    const Shape shape{static_cast<std::int64_t>(rows)};
    if (placed.back().type != DataType::kBytes || !(placed.back().shape == shape))
      return bad_output(kFailures, "has a wrong type or shape");
    HEADRACE_TRY(const TensorView failures, reader.read(placed.back(), kFailures, shape));
    for (std::uint64_t row = 0; row < rows; ++row) {
      const std::string_view why = failures.strings[row];
      if (!why.empty()) out.failed_rows.emplace(row, Error{Code::kInvalidArgument, std::string(why)});
    }
  }
  out.owner = std::move(texts);
  return out;
}

}  // namespace headrace

/// How much CPU do encoded objects of Apache Ignite take until they are batches of 128?
///
///   headrace_bench_ignite_objects REPEATS
///
/// The objects are those of bench/ignite.py: 4 kB each, with a vector of 960 floats, a number, a text and an
/// object in them. They lie in memory, as if pages had just arrived. Writes JSON: "records", and CPU and wall
/// seconds of each repeat, after one that is not counted. bench/ignite_objects.py runs it.

#include <cstdlib>
#include <iostream>

#include "bench/measuring/ignite_rows.h"
#include "bench/measuring/repeats.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/message.h"
#include "headrace/record/ignite_row_decoder.h"
#include "headrace/stream/batch_maker.h"

namespace headrace::ignite {
namespace {

constexpr std::uint64_t kBatchRows = 128;
constexpr std::size_t kObjects = 8 * kBatchRows;  // 4 MB: pages that wait
constexpr std::size_t kRounds = 50;

BinaryTypes::Fetch types_of_rows() {
  return [](std::int32_t id) -> Result<std::optional<BinaryType>> {
    const Value row = bench_row(0, bench_vector(), "row");
    const auto& object = *std::get<std::shared_ptr<const ComplexObject>>(row);
    const auto& metadata = *std::get<std::shared_ptr<const ComplexObject>>(object.fields.back().value);
    if (object.type->id == id) return std::optional(*object.type);
    if (metadata.type->id == id) return std::optional(*metadata.type);
    return std::optional<BinaryType>();
  };
}

/// A row as a page has it: the key with the value behind it.
Result<std::vector<Bytes>> make_rows() {
  std::vector<Bytes> rows;
  const Bytes vector = bench_vector();
  for (std::size_t i = 0; i < kObjects; ++i) {
    const std::string name = concat("row ", i);
    Bytes& row = rows.emplace_back(encode_long(static_cast<std::int64_t>(i)));
    HEADRACE_CHECK(append_object(bench_row(static_cast<std::int64_t>(i), vector, name), {}, row));
  }
  return rows;
}

class Batches {
 public:
  Batches(const LoaderOptions& options, BatchMaker maker)
      : pool_(BatchPool::create(batch_columns(options.columns, options.images), options.batch_size)),
        maker_(std::move(maker)) {}

  Status make(std::span<const Bytes> rows) {
    places_.clear();
    for (const Bytes& row : rows) places_.push_back({.data = row});
    Batch batch = pool_->take();
    return maker_.make({.places = places_, .find = {}, .describe = {}, .stop = {}}, batch);
  }

 private:
  const std::shared_ptr<BatchPool> pool_;
  BatchMaker maker_;
  std::vector<Window::Place> places_;
};

Status run(int repeats) {
  const LoaderOptions options{.columns = {{"val.vector", DataType::kFloat32, kBenchVectorValues},
                                          {"val.id", DataType::kInt64, 1},
                                          {"val.metadata.label", DataType::kInt64, 1}},
                              .batch_size = kBatchRows};
  PictureMemory pictures(1 << 20);
  HEADRACE_TRY(auto decoder,
               IgniteRowDecoder::create(options.columns, std::make_shared<BinaryTypes>(types_of_rows())));
  HEADRACE_TRY(const std::vector<Bytes> rows, make_rows());
  Batches batches(options, BatchMaker(std::move(decoder), options, pictures));
  const auto read = [&]() -> Status {
    for (std::size_t round = 0; round < kRounds; ++round)
      for (std::size_t i = 0; i < kObjects; i += kBatchRows)
        HEADRACE_CHECK(batches.make(std::span(rows).subspan(i, kBatchRows)));
    return {};
  };
  HEADRACE_CHECK(read());
  Repeats times;
  for (int i = 0; i < repeats; ++i) HEADRACE_CHECK(times.time(read));
  Json answer = times.to_json();
  answer["records"] = kObjects * kRounds;
  std::cout << answer.dump() << '\n';
  return {};
}

}  // namespace
}  // namespace headrace::ignite

int main(int argc, char** argv) {
  using namespace headrace;
  const auto repeats = argc == 2 ? parse_number<int>(argv[1]) : std::nullopt;
  if (!repeats || *repeats < 1) return 2;
  const Status status = ignite::run(*repeats);
  if (!status) std::cerr << status.error().message << '\n';
  return status ? 0 : 1;
}

/// How fast do GZIP shards become batches in the trainer's buffers?
///
///   headrace_bench_read_batches write URL RECORDS SHARD_RECORDS   a dataset as `headrace prepare` writes it
///   headrace_bench_read_batches read URL REPEATS THREADS          epochs of shuffled batches of 128
///
/// Records are those of the main job: 512 floats of a unit vector (random, so they hardly shrink), a one-hot
/// label, a text of about 1.3 kB and an id; texts and ids are not read. `read` writes JSON to standard
/// output: CPU seconds of the process and wall seconds of each epoch, and the most anonymous memory at any
/// batch. bench/read_batches.py pins it and runs the peers beside it.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "bench/measuring/repeats.h"
#include "bench/measuring/review_examples.h"
#include "headrace/base/crc32c.h"
#include "headrace/codec/deflate.h"
#include "headrace/store/registry.h"
#include "headrace/stream/loader.h"

namespace headrace {
namespace {

constexpr std::uint32_t kDimension = kSentenceDimension;
constexpr std::size_t kMemberBytes = 1 << 20;
constexpr std::uint64_t kBatchSize = 128;

std::uint64_t anonymous_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10);
  }
  return 0;
}

void append_example(std::mt19937_64& random, std::uint64_t number, Bytes& stream) {
  const std::vector<float> sentence = make_sentence_vector(random);
  const std::int64_t label[] = {static_cast<std::int64_t>(number % 2),
                                1 - static_cast<std::int64_t>(number % 2)};
  const std::string text = make_review(random), id = concat("aclImdb/train/pos/", number, "_7.txt");
  ExampleBuilder builder;
  builder.add_floats("sentence", sentence);
  builder.add_int64s("label", label);
  builder.add_bytes("text", as_bytes(text));
  builder.add_bytes("id", as_bytes(id));
  const std::size_t offset = begin_record(stream);
  builder.append_to(stream);
  end_record(stream, offset);
}

Status write_shard(const Location& folder, std::uint64_t number, std::uint64_t records, Manifest& manifest) {
  std::mt19937_64 random(number);
  HEADRACE_TRY(GzipCompressor compressor, GzipCompressor::create(6));
  ShardIndexBuilder builder(ShardEncoding::kGzip);
  Bytes member, data;
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::size_t before = member.size();
    append_example(random, i, member);
    builder.add_record(member.size() - before - kRecordFramingBytes);
    if (member.size() < kMemberBytes && i + 1 < records) continue;
    builder.add_member(compressor.append_member(member, data), member.size());
    member.clear();
  }
  HEADRACE_TRY(const ShardIndex index, std::move(builder).finish(data.size(), crc32c(data)));
  const std::string key = concat("train-", zero_padded(number, 5), ".tfrecord.gz");
  HEADRACE_CHECK(folder.store->write(folder.at(key).key, data, {}));
  const Bytes index_bytes = index.serialize();
  HEADRACE_CHECK(folder.store->write(folder.at(key + ".index").key, index_bytes, {}));
  manifest.parts.push_back({.key = key,
                            .size_bytes = data.size(),
                            .crc32c = crc32c(data),
                            .role = "shard",
                            .split = "train",
                            .records = records,
                            .index = key + ".index",
                            .blocks = index.blocks()});
  manifest.parts.push_back({.key = key + ".index", .size_bytes = index_bytes.size(), .role = "index"});
  return {};
}

Status write(const Location& folder, std::uint64_t records, std::uint64_t shard_records) {
  Manifest manifest{.kind = "dataset", .created_by = "bench", .plan = "read_batches"};
  for (std::uint64_t first = 0; first < records; first += shard_records) {
    HEADRACE_CHECK(
        write_shard(folder, first / shard_records, std::min(shard_records, records - first), manifest));
  }
  DatasetAttributes attributes{.compression = "gzip", .compression_level = 6, .labels = {"neg", "pos"}};
  attributes.features = {{"sentence", {"float32", std::vector<std::int64_t>{kDimension}}},
                         {"label", {"int64", std::vector<std::int64_t>{2}}}};
  attributes.splits["train"].records = records;
  manifest.attributes_json = dataset_attributes_to_json(attributes);
  HEADRACE_CHECK(folder.store->write(folder.at(concat(kManifestPrefix, "00000001")).key,
                                     as_bytes(serialize_manifest(manifest)), {}));
  return {};
}

Status read(const Location& folder, int repeats, int threads) {
  HEADRACE_TRY(const auto dataset, Dataset::open(folder, {}));
  Json cpu_s = Json::array(), wall_s = Json::array(), stages = Json::array();
  std::uint64_t records = 0, most_kib = 0;
  double sum = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    LoaderOptions options{
        .columns = {{"sentence", DataType::kFloat32, kDimension}, {"label", DataType::kInt64, 2}},
        .batch_size = kBatchSize,
        .seed = 44,
        .first_epoch = static_cast<std::uint64_t>(repeat)};
    options.epochs = options.first_epoch + 1;
    options.threads = threads;
    HEADRACE_TRY(const auto loader, BatchLoader::create({{.dataset = dataset}}, options));
    records = 0;
    while (true) {
      HEADRACE_TRY(const std::optional<Batch> batch, loader->next());
      if (!batch) break;
      records += batch->records;
      sum += static_cast<double>(reinterpret_cast<const float*>(batch->column(0))[0]);
      if (batch->number % 64 == 0) most_kib = std::max(most_kib, anonymous_kib());
    }
    const LoaderStats stats = loader->stats();
    stages.push_back({{"fetch_s", stats.fetch_seconds},
                      {"inflate_s", stats.inflate_seconds},
                      {"check_s", stats.check_seconds},
                      {"decode_s", stats.decode_seconds}});
    cpu_s.push_back(seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    wall_s.push_back(seconds(CLOCK_MONOTONIC) - wall);
  }
  std::cout << Json{{"records", records},        {"cpu_s", cpu_s}, {"wall_s", wall_s}, {"stages", stages},
                    {"anonymous_kib", most_kib}, {"sum", sum}}
                   .dump()
            << "\n";
  return {};
}

Status run(const std::vector<std::string>& arguments) {
  StoreRegistry registry(Environment::capture());
  HEADRACE_TRY(const Location folder, registry.open(arguments.at(1)));
  const auto first = parse_number<int>(arguments.at(2)), second = parse_number<int>(arguments.at(3));
  if (!first || !second || *first < 1 || *second < 1) return Error{Code::kInvalidArgument, "not a number"};
  return arguments[0] == "write"
             ? write(folder, static_cast<std::uint64_t>(*first), static_cast<std::uint64_t>(*second))
             : read(folder, *first, *second);
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const headrace::Status status = headrace::run(std::vector<std::string>(argv + 1, argv + argc));
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}

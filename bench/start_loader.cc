/// What does it cost to start, to resume, and how many bytes are fetched?
///
///   headrace_bench_start_loader open             a dataset of 1 billion records of 1 kB: opening it and
///                                                knowing its order, the memory of that
///   headrace_bench_start_loader resume REPEATS   the same: from a state to the batch after it
///   headrace_bench_start_loader fetch URL        one epoch of a real dataset: bytes that the store gave
///
/// The store of the first two is simulated: it has a manifest and any byte of its thousand shards, all
/// records being the same. All print JSON. bench/start_loader.py runs it.

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <random>

#include "bench/measuring/repeats.h"
#include "headrace/base/text.h"
#include "headrace/record/example.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/registry.h"
#include "headrace/stream/batch_plan.h"
#include "headrace/stream/loader.h"
#include "headrace/stream/loader_state.h"

namespace headrace {
namespace {

constexpr std::uint64_t kShards = 1'000;
constexpr std::uint64_t kShardRecords = 1'000'000;
constexpr std::size_t kRecordBytes = 1'000;
constexpr std::uint64_t kBatchSize = 128;
constexpr std::uint64_t kSeed = 44;

std::uint64_t most_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// Counts what it reads.
class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    ++reads;
    auto result = ForwardingStore::read_into(key, target, options);
    if (result) bytes += result->bytes_read;
    return result;
  }
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
    return Store::read_many(requests, options);
  }
  std::atomic<std::uint64_t> reads = 0, bytes = 0;
};

// The billion records: what of them is read is made.
class BillionRecords final : public ForwardingStore {
 public:
  explicit BillionRecords(std::shared_ptr<Store> manifests) : ForwardingStore(std::move(manifests)) {
    ExampleBuilder builder;
    const std::int64_t label = 1;
    const Bytes text(kRecordBytes);
    builder.add_int64s("label", {&label, 1});
    builder.add_bytes("text", text);
    const std::size_t offset = begin_record(pattern_);
    builder.append_to(pattern_);
    end_record(pattern_, offset);
    frame_bytes_ = pattern_.size();
    const Bytes frame = pattern_;
    while (pattern_.size() < (1 << 20)) pattern_.insert(pattern_.end(), frame.begin(), frame.end());
  }

  std::uint64_t shard_bytes() const { return kShardRecords * frame_bytes_; }

  Status publish(const Location& folder) {
    Manifest manifest{.kind = "dataset", .created_by = "bench", .plan = "start_loader"};
    const std::uint64_t block_records = kBlockBytes / frame_bytes_ + 1;
    for (std::uint64_t shard = 0; shard < kShards; ++shard) {
      ManifestPart part{.key = name(shard),
                        .size_bytes = shard_bytes(),
                        .role = "shard",
                        .split = "train",
                        .records = kShardRecords,
                        .index = name(shard) + ".index"};
      for (std::uint64_t first = 0; first < kShardRecords; first += block_records) {
        const std::uint64_t records = std::min(block_records, kShardRecords - first);
        part.blocks.push_back({records, records * frame_bytes_, records * frame_bytes_});
      }
      manifest.parts.push_back(std::move(part));
      manifest.parts.push_back({.key = name(shard) + ".index", .size_bytes = 1, .role = "index"});
    }
    DatasetAttributes attributes{.compression = "none"};
    attributes.features = {{"label", {"int64", std::vector<std::int64_t>{}}}};
    attributes.splits["train"].records = kShards * kShardRecords;
    manifest.attributes_json = dataset_attributes_to_json(attributes);
    HEADRACE_CHECK(
        write_text(*this, folder.at(concat(kManifestPrefix, "00000001")).key, serialize_manifest(manifest)));
    return {};
  }

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (!is_shard(key)) return inner().read_into(key, target, options);
    const std::size_t size = std::min<std::uint64_t>(target.size(), shard_bytes() - options.offset_bytes);
    for (std::size_t done = 0; done < size;) {
      const std::size_t at = (options.offset_bytes + done) % frame_bytes_;
      const std::size_t step = std::min(size - done, pattern_.size() - at);
      std::memcpy(target.data() + done, pattern_.data() + at, step);
      done += step;
    }
    return ReadResult{size, {std::string(key), shard_bytes(), {"1"}}};
  }

  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    if (prefix.find(kManifestPrefix) != std::string_view::npos) return inner().list(prefix, options, visit);
    for (std::uint64_t shard = 0; shard < kShards; ++shard) {
      if (!visit({concat("data/", name(shard)), shard_bytes(), {"1"}})) break;
    }
    return {};
  }

 private:
  static std::string name(std::uint64_t shard) {
    return concat("train-", zero_padded(shard, 5), ".tfrecord");
  }
  static bool is_shard(std::string_view key) { return key.ends_with(".tfrecord"); }

  Bytes pattern_;
  std::uint64_t frame_bytes_ = 0;
};

Result<Location> simulated(StoreRegistry& registry) {
  HEADRACE_TRY(Location folder, registry.open("memory://bench/data"));
  auto store = std::make_shared<BillionRecords>(folder.store);
  HEADRACE_CHECK(store->publish(folder));
  folder.store = store;
  return folder;
}

LoaderOptions options_of_label(std::uint32_t length) {
  return {.columns = {{.name = "label", .type = DataType::kInt64, .length = length}},
          .batch_size = kBatchSize,
          .seed = kSeed};
}

// Making the manifest costs memory, too: the caller takes it off.
Status open(StoreRegistry& registry) {
  HEADRACE_TRY(const Location folder, simulated(registry));
  const std::uint64_t before = most_resident_bytes();
  const double start = seconds(CLOCK_MONOTONIC);
  HEADRACE_TRY(const auto dataset, Dataset::open(folder, {}));
  std::vector<std::string> remarks;
  HEADRACE_TRY(const auto source, Source::create(dataset, {.seed = kSeed}, {}, remarks));
  const BatchPlan plan({{.record_count = source->record_count()}}, kBatchSize, false, {});
  const std::vector<SourcePosition> rows = plan.rows(plan.batches_per_epoch() / 2);
  const SourceRecord found = source->at(rows.front().epoch, rows.front().position);
  const double wall_s = seconds(CLOCK_MONOTONIC) - start;
  std::cout << Json{{"records", dataset->record_count()},
                    {"blocks", dataset->blocks().size()},
                    {"wall_s", wall_s},
                    {"resident_before_bytes", before},
                    {"resident_bytes", most_resident_bytes()},
                    {"some_record", concat(found.shard, ":", found.record)}}
                   .dump()
            << "\n";
  return {};
}

Status resume(StoreRegistry& registry, std::uint64_t repeats) {
  HEADRACE_TRY(const Location folder, simulated(registry));
  HEADRACE_TRY(const auto dataset, Dataset::open(folder, {}));
  const std::vector<LoaderSource> sources = {{.dataset = dataset}};
  std::mt19937_64 random(kSeed);
  const std::uint64_t batches = kShards * kShardRecords / kBatchSize;
  Json resume_s = Json::array(), first_batch_s = Json::array();
  std::size_t state_bytes = 0;
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    LoaderOptions options = options_of_label(1);
    const std::string state = loader_state(sources, options, {0, random() % batches});
    state_bytes = std::max(state_bytes, state.size());
    const double start = seconds(CLOCK_MONOTONIC);
    HEADRACE_TRY(const LoaderPosition position, parse_loader_state(state, sources, options));
    options.first_epoch = position.epoch;
    options.first_batch = position.batch;
    HEADRACE_TRY(const auto loader, BatchLoader::create(sources, options));
    resume_s.push_back(seconds(CLOCK_MONOTONIC) - start);
    HEADRACE_TRY(const std::optional<Batch> batch, loader->next());
    if (!batch || batch->number != position.batch) return Error{Code::kInternal, "another batch came"};
    first_batch_s.push_back(seconds(CLOCK_MONOTONIC) - start);
  }
  std::cout
      << Json{{"state_bytes", state_bytes}, {"resume_s", resume_s}, {"first_batch_s", first_batch_s}}.dump()
      << "\n";
  return {};
}

Status fetch(StoreRegistry& registry, const std::string& url) {
  HEADRACE_TRY(Location folder, registry.open(url));
  const auto store = std::make_shared<CountingStore>(folder.store);
  folder.store = store;
  HEADRACE_TRY(const auto dataset, Dataset::open(folder, {}));
  std::uint64_t shard_bytes = 0;
  for (const DatasetShard& shard : dataset->shards()) shard_bytes += shard.size_bytes;
  HEADRACE_TRY(const auto loader, BatchLoader::create({{.dataset = dataset}}, options_of_label(2)));
  std::uint64_t records = 0;
  while (true) {
    HEADRACE_TRY(const std::optional<Batch> batch, loader->next());
    if (!batch) break;
    records += batch->records;
  }
  std::cout << Json{{"records", records},
                    {"shard_bytes", shard_bytes},
                    {"fetched_bytes", store->bytes.load()},
                    {"reads", store->reads.load()}}
                   .dump()
            << "\n";
  return {};
}

Status run(const std::vector<std::string>& arguments) {
  StoreRegistry registry(Environment::capture());
  if (arguments[0] == "open") return open(registry);
  if (arguments[0] == "fetch") return fetch(registry, arguments.at(1));
  const auto repeats = parse_number<std::uint64_t>(arguments.at(1));
  return repeats ? resume(registry, *repeats) : Error{Code::kInvalidArgument, "not a number"};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const headrace::Status status = headrace::run(std::vector<std::string>(argv + 1, argv + argc));
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}

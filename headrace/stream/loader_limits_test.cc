#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/os/parallel.h"
#include "headrace/store/layers/cached.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(LoaderTest, WhoHoldsAllBatchesIsToldSo) {
  publish({500}, 7, true);
  LoaderOptions with = options();
  with.threads = 1;
  with.hold_patience = milliseconds(150);
  auto probe = make_loader(open(), with);
  with.memory_budget_bytes = 30'000;
  auto loader = make_loader(open(), with);
  ASSERT_TRUE(loader) << loader.error().message;
  std::vector<Batch> held;
  Result<std::optional<Batch>> batch = std::optional<Batch>();
  while ((batch = (*loader)->next()) && *batch) held.push_back(**batch);
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Code::kResourceExhausted);
  EXPECT_THAT(batch.error().message, AllOf(HasSubstr(concat("holds ", held.size(), " batches")),
                                           HasSubstr("the memory budget of 30.0 kB")));
  EXPECT_EQ((*loader)->stats().held_batches, held.size());
  held.erase(held.begin());
  EXPECT_TRUE((*loader)->next()) << "it goes on once a batch is back";
}

TEST_F(LoaderTest, ABatchOfManyWindowsNeedsRoomForAllOfThem) {
  publish({500}, 7, true);
  LoaderOptions with = options();
  with.shuffle = ShuffleMode::kNone;
  with.columns.resize(1);
  with.columns[0] = {.name = "y", .type = DataType::kInt64, .length = 2};
  with.threads = 1;
  with.batch_size = 16;
  with.memory_budget_bytes = 20'000;
  EXPECT_TRUE(make_loader(open(), with));
  with.batch_size = 200;
  const auto refused = make_loader(open(), with);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  with.memory_budget_bytes = 80'000;
  auto loader = make_loader(open(), with);
  ASSERT_TRUE(loader) << loader.error().message;
  std::size_t batches = 0;
  while (*(*loader)->next()) ++batches;
  EXPECT_EQ(batches, 3U);
}

class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (key.starts_with("large/train-") && !key.ends_with(".index")) ++reads;
    return ForwardingStore::read_into(key, target, options);
  }
  std::atomic<int> reads = 0;  // of shards
};

// Tests windows that want most of what lies around their records, and windows that want little of it, with
// and without compression.
TEST_F(LoaderTest, WhatExactOrderHasReadOnceIsInTheCache) {
  for (const std::uint64_t member_records : {0, 7}) {
    for (const std::uint64_t window_bytes : {300, 200'000}) {
      publish({2'000, 800}, member_records, false, "large");
      LoaderOptions with = options();
      with.shuffle = ShuffleMode::kExact;
      with.window_bytes = window_bytes;
      with.threads = 1;  // or two may fetch the same range
      const auto expected = batches_of(open(CorruptionPolicy::kFail, "large"), with);
      const auto far = std::make_shared<CountingStore>(store);
      const Location near{make_memory_store("near"), "", Url{"memory", "near", ""}};
      const auto dataset = Dataset::open({make_cached(far, near, {}), "large", Url{}}, {});
      ASSERT_TRUE(dataset);
      EXPECT_EQ(batches_of(*dataset, with), expected) << window_bytes;
      const int reads = far->reads;
      // The reads fetch blocks, pieces, or members.
      const bool is_dense = window_bytes > 300;
      EXPECT_EQ(reads, member_records > 0 ? 286 + 115 : is_dense ? 2 : 3) << window_bytes;
      with.seed += 1;
      EXPECT_NE(batches_of(*dataset, with), expected);
      EXPECT_EQ(far->reads, reads) << "member_records " << member_records << ", " << window_bytes;
    }
  }
}

TEST_F(LoaderTest, WhereTheRecordsLieIsPartOfTheBudget) {
  publish({500}, 7, true);
  LoaderOptions with = options();
  with.shuffle = ShuffleMode::kExact;
  with.memory_budget_bytes = 3'999;
  const auto refused = make_loader(open(), with);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("in exact order, the positions of the records take 4.0 kB"));
}

TEST_F(LoaderTest, ASmallDataSetNeedsNoMoreThanItsOwnSizeInAnyOrder) {
  publish({50}, 7);
  LoaderOptions with = options();
  with.window_bytes = kDefaultWindowBytes;
  with.memory_budget_bytes = 100'000;
  for (const ShuffleMode mode : {ShuffleMode::kNone, ShuffleMode::kWindow, ShuffleMode::kExact}) {
    with.shuffle = mode;
    const auto loader = make_loader(open(), with);
    EXPECT_TRUE(loader) << loader.error().message;
  }
}

TEST_F(LoaderTest, NoBatchIsSoLargeThatSumsWrapAround) {
  publish({50}, 7);
  LoaderOptions with = options();
  with.batch_size = std::uint64_t{1} << 31;
  with.memory_budget_bytes = std::uint64_t{1} << 40;
  with.columns.push_back({.name = "z", .length = std::uint32_t{1} << 31, .required = false});
  EXPECT_EQ(make_loader(open(), with).error().code, Code::kResourceExhausted);
  with.batch_size = ~std::uint64_t{0};
  EXPECT_EQ(make_loader(open(), with).error().code, Code::kInvalidArgument);
}

TEST_F(LoaderTest, ABatchesMemoryIsUsedAgain) {
  publish({500}, 7, true);
  auto loader = make_loader(open(), options());
  std::set<const std::byte*> memory;
  while (const auto batch = *(*loader)->next()) memory.insert(batch->column(0));
  EXPECT_LE(memory.size(), 10U);
}

TEST_F(LoaderTest, AClosedLoaderGivesNoMoreAndItsBatchesStay) {
  publish({500}, 7, true);
  auto loader = make_loader(open(), options());
  const Batch first = **(*loader)->next();
  const std::vector<std::byte> content(first.column(0), first.column(0) + 100);
  const LoaderStats before = (*loader)->stats();
  (*loader)->close();
  (*loader)->close();
  EXPECT_EQ((*loader)->next().error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(std::equal(content.begin(), content.end(), first.column(0)));
  EXPECT_EQ((*loader)->stats().batches, before.batches);
  EXPECT_EQ((*loader)->stats().ready_batches, 0U);
  EXPECT_EQ((*loader)->stats().held_batches, 1U);
  EXPECT_EQ((*loader)->state(0, 1), (*make_loader(open(), options()))->state(0, 1));
}

TEST_F(LoaderTest, SeveralThreadsMayCloseWhileBatchesAreMade) {
  publish({500}, 7, true);
  const auto dataset = open();
  for (int i = 0; i < 50; ++i) {
    LoaderOptions with = options();
    with.threads = 3;
    auto loader = make_loader(dataset, with);
    std::vector<std::jthread> closers;
    for (int c = 0; c < 3; ++c) closers.emplace_back([&] { (*loader)->close(); });
    while (true) {
      const auto batch = (*loader)->next();
      if (!batch || !*batch) break;
    }
    closers.clear();
    EXPECT_EQ((*loader)->stats().threads, 0);
  }
}

TEST_F(LoaderTest, HeadspaceGivesTheFirstBatchAgainAndAgain) {
  publish({500}, 7, true);
  LoaderOptions with = options();
  const auto expected = batches_of(open(), with);
  with.headspace = true;
  with.threads = 4;
  auto loader = make_loader(open(), with);
  std::uint64_t count = 0;
  std::set<const std::byte*> memory;
  while (const auto batch = *(*loader)->next()) {
    EXPECT_EQ(batch->number, count++);
    EXPECT_EQ(reinterpret_cast<const std::int64_t*>(batch->column(1))[0], expected[0][0]);
    memory.insert(batch->column(0));
  }
  EXPECT_EQ(count, expected.size());
  EXPECT_EQ(memory.size(), 1U);
}

TEST_F(LoaderTest, TracesWhatItsThreadsDo) {
  publish({500}, 7, true);
  LoaderOptions with = options();
  with.trace = true;
  auto loader = make_loader(open(), with);
  const std::size_t batches = drain(**loader).size();
  const std::string trace = (*loader)->trace_json();
  EXPECT_THAT(trace, AllOf(HasSubstr("\"name\":\"loading\""), HasSubstr("\"ph\":\"X\"")));
  std::size_t made = 0;
  for (std::size_t at = 0; (at = trace.find("\"making\"", at)) != std::string::npos; ++at) ++made;
  EXPECT_EQ(made, batches);
  const LoaderStats stats = (*loader)->stats();
  EXPECT_EQ(stats.batches, batches);
  EXPECT_EQ(stats.records, 500U);
  EXPECT_EQ(stats.blocks, 72U);
  EXPECT_EQ(stats.decoded_bytes,
            batches * options().batch_size * (kWidth * sizeof(float) + 2 * sizeof(std::int64_t)));
}

// A store whose reads wait until they are released or stopped, or until a given number of reads wait at the
// same time.
class StuckStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::atomic<bool> is_stuck{false};
  std::atomic<int> most_waiting{1'000'000};
  bool is_asked() const { return waiting_ > 0; }

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (++waiting_ == most_waiting) is_stuck = false;
    while (is_stuck && !options.call.stop.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
    --waiting_;
    if (options.call.stop.stop_requested()) return Error{Code::kCancelled, "stopped"};
    return ForwardingStore::read_into(key, target, options);
  }

 private:
  std::atomic<int> waiting_{0};
};

class LoaderStallTest : public LoaderTest {
 protected:
  LoaderStallTest() : stuck(std::make_shared<StuckStore>(store)) {}

  std::unique_ptr<BatchLoader> stalled(const LoaderOptions& with, bool has_many_blocks = false) {
    publish({200}, 7, has_many_blocks);
    const auto dataset = Dataset::open({stuck, "data", Url{"memory", "test", "data"}}, {});
    EXPECT_TRUE(dataset);
    stuck->is_stuck = true;
    auto loader = make_loader(*dataset, with);
    EXPECT_TRUE(loader);
    return std::move(*loader);
  }

  std::shared_ptr<StuckStore> stuck;
};

TEST_F(LoaderStallTest, NoWaitIsSilent) {
  LoaderOptions with = options();
  with.report_after = milliseconds(20);
  std::vector<std::string> reports;
  with.report = [&](const std::string& text) {
    reports.push_back(text);
    if (reports.size() == 2) stuck->is_stuck = false;
  };
  const auto loader = stalled(with);
  const auto batch = loader->next();
  ASSERT_TRUE(batch) << batch.error().message;
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_THAT(reports[0], AllOf(HasSubstr("no batch for"), HasSubstr("the caller waits for batch 0"),
                                HasSubstr("loading bytes 0–"), HasSubstr("memory://test/data/train-00000")));
}

TEST_F(LoaderStallTest, WhatAReportThrowsEndsTheWaitAndNothingElse) {
  LoaderOptions with = options();
  with.report_after = milliseconds(20);
  bool is_to_throw = true;
  with.report = [&](const std::string&) {
    if (std::exchange(is_to_throw, false)) throw std::runtime_error("a signal came");
    stuck->is_stuck = false;
  };
  const auto loader = stalled(with);
  EXPECT_THROW(static_cast<void>(loader->next()), std::runtime_error);
  const auto batch = loader->next();
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ((*batch)->number, 0U);
  EXPECT_EQ(loader->stats().batches, 1U);
}

TEST_F(LoaderStallTest, PatienceEnds) {
  LoaderOptions with = options();
  with.patience = milliseconds(50);
  const auto batch = stalled(with)->next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(batch.error().message, HasSubstr("memory://test/data/train-00000"));
}

TEST_F(LoaderStallTest, AStopEndsTheWait) {
  std::stop_source source;
  LoaderOptions with = options();
  with.stop = source.get_token();
  const auto loader = stalled(with);
  source.request_stop();
  EXPECT_EQ(loader->next().error().code, Code::kCancelled);
}

TEST_F(LoaderStallTest, AStopComesBeforeABatchThatIsReady) {
  std::stop_source source;
  LoaderOptions with = options();
  with.stop = source.get_token();
  const auto loader = stalled(with);
  stuck->is_stuck = false;
  ASSERT_TRUE(loader->next());
  while (loader->stats().ready_batches == 0) std::this_thread::yield();
  source.request_stop();
  const auto batch = loader->next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, Code::kCancelled);
}

TEST_F(LoaderStallTest, ClosingEndsTheThreadsAndAWaitInAnotherThread) {
  const auto loader = stalled(options());
  Error error;
  std::jthread waiter([&] { error = loader->next().error(); });
  while (!stuck->is_asked()) std::this_thread::yield();
  loader->close();
  waiter.join();
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, HasSubstr("the loader is closed"));
  EXPECT_EQ(loader->stats().threads, 0);
}

TEST_F(LoaderStallTest, WhatIsToldOfAWaitMayClose) {
  LoaderOptions with = options();
  with.report_after = milliseconds(20);
  BatchLoader* closed = nullptr;
  with.report = [&](const std::string&) { closed->close(); };
  const auto loader = stalled(with);
  closed = loader.get();
  EXPECT_EQ(loader->next().error().code, Code::kFailedPrecondition);
}

TEST_F(LoaderStallTest, AStoreThatIsSlowFromTheStartGetsMoreThreads) {
  LoaderOptions with = options();
  with.threads = 0;
  with.window_bytes = 1 << 20;
  stuck->most_waiting = available_cores() + 2;
  const auto loader = stalled(with, true);
  ASSERT_TRUE(loader->next());
  EXPECT_GE(loader->stats().threads, available_cores() + 2);
}

// Opening a billion records takes only the manifest, and the memory of one DatasetBlock for each 8 MiB.
TEST_F(LoaderTest, ABillionRecordsAreOpenedByTheirManifest) {
  constexpr std::uint64_t kShards = 200, kBlocks = 64, kBlockRecords = 80'000;
  Manifest manifest{.kind = "dataset", .created_by = "run", .plan = "p"};
  for (std::uint64_t s = 0; s < kShards; ++s) {
    const std::string key = concat("train-", zero_padded(s, 5));
    ManifestPart part{
        .key = key, .size_bytes = 0, .role = "shard", .split = "train", .index = key + ".index"};
    part.blocks.assign(kBlocks, {kBlockRecords, 0, kBlockRecords * 128});
    part.records = kBlocks * kBlockRecords;
    ASSERT_TRUE(write_text(*store, "data/" + key, ""));
    manifest.parts.push_back(part);
    manifest.parts.push_back({.key = key + ".index", .role = "index"});
  }
  DatasetAttributes attributes{.compression = "gzip"};
  attributes.features = {{"x", {"float32", std::vector<std::int64_t>{kWidth}}},
                         {"y", {"int64", std::vector<std::int64_t>{2}}}};
  manifest.attributes_json = dataset_attributes_to_json(attributes);
  ASSERT_TRUE(write_text(*store, "data/_headrace/manifest-00000001", serialize_manifest(manifest)));
  const auto dataset = open();
  ASSERT_EQ(dataset->record_count(), 1'024'000'000U);
  auto loader = make_loader(dataset, options());
  ASSERT_TRUE(loader) << loader.error().message;
  EXPECT_EQ((*loader)->batches_per_epoch(), 64'000'000U);
  EXPECT_EQ((*loader)->where(3, 63'999'999, {})->size(), 16U);
}

}  // namespace
}  // namespace headrace

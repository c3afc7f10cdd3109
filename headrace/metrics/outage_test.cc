// The numbers of a run outlive a store that is gone for long, a full disk, and a clock that goes back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "headrace/base/sanitized_test.h"
#include "headrace/base/text.h"
#include "headrace/metrics/compact.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/metric_writer.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ScratchFolder& outage_scratch = *static_cast<ScratchFolder*>(
    testing::AddGlobalTestEnvironment(new ScratchFolder));  // NOLINT: gtest owns it

// A store that can go away, and counts who asks for it meanwhile.
class FailingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (!is_gone) return ForwardingStore::write(key, data, options);
    ++refused;
    return Error{Code::kUnavailable, "out of reach"};
  }
  std::atomic<bool> is_gone = false;
  std::atomic<int> refused = 0;
};

class Outage : public testing::Test {
 protected:
  static constexpr std::size_t kRanks = 4;

  Location log(std::size_t rank) const {
    const std::string key = concat("_headrace/metrics/run/rank-", rank);
    return Location{store, key, {"memory", "test", key}};
  }
  std::shared_ptr<MetricWriter> open(std::size_t rank, MetricWriterOptions options = {}) {
    options.journal_folder = concat(folder, "/rank-", rank);
    auto writer = MetricWriter::open(log(rank), std::move(options), background);
    EXPECT_TRUE(writer) << writer.error().message;
    return *std::move(writer);
  }
  // The points of one metric, after every checksum of the log was compared.
  MetricSeries verified(std::size_t rank, std::string_view name = "loss") const {
    const auto opened = MetricLog::open(log(rank), {});
    EXPECT_TRUE(opened) << opened.error().message;
    const Status whole = opened->verify();
    EXPECT_TRUE(whole) << whole.error().message;
    return *opened->read(name);
  }

  const std::string folder = outage_scratch.new_root();
  std::shared_ptr<FailingStore> store = std::make_shared<FailingStore>(make_memory_store("test"));
  Background background{4};
};

// The clock runs a thousand times as fast: a segment is due each 10 ms in place of 10 s, and the outage takes
// 600 ms in place of ten minutes.
TEST_F(Outage, TenMinutesWhileFourRanksLogLoseNothing) {
  constexpr milliseconds kInterval{10};
  const auto begin = std::chrono::steady_clock::now();
  store->is_gone = true;
  std::array<int, kRanks> logged{};
  std::vector<std::shared_ptr<MetricWriter>> writers;
  for (std::size_t rank = 0; rank < kRanks; ++rank)
    writers.push_back(open(rank, {.journal_interval = milliseconds(1), .segment_interval = kInterval}));
  const auto rank_logs = [&](std::size_t rank) {
    const std::uint32_t loss = *writers[rank]->metric("loss");
    for (; std::chrono::steady_clock::now() < begin + 60 * kInterval; std::this_thread::yield()) {
      const int step = logged[rank]++;
      writers[rank]->log(loss, step, step + static_cast<double>(rank) / 10);
      if (step % 1000 != 0) continue;
      EXPECT_TRUE(writers[rank]->flush());
    }
  };
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < kRanks; ++rank) ranks.emplace_back(rank_logs, rank);
  ranks.clear();
  const auto intervals = (std::chrono::steady_clock::now() - begin) / kInterval;
  EXPECT_LE(store->refused, static_cast<int>(kRanks) * (intervals + 1)) << "an outage makes no flood";
  store->is_gone = false;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const auto& writer = writers[rank];
    ASSERT_TRUE(writer->close(seconds(60)));
    EXPECT_EQ(writer->counts().dropped, 0U);
    const MetricSeries series = verified(rank);
    ASSERT_EQ(series.steps.size(), static_cast<std::size_t>(logged[rank]));
    for (std::size_t i = 0; i < series.steps.size(); ++i) {
      ASSERT_EQ(series.steps[i], static_cast<std::int64_t>(i));
      ASSERT_EQ(series.values[i], static_cast<double>(i) + static_cast<double>(rank) / 10);
    }
  }
}

TEST_F(Outage, AFullJournalKeepsWhatItHasAndTakesMoreOnceTheStoreIsBack) {
  const auto writer = open(0, {.is_flushed_by_caller = true, .most_journal_bytes = 2000});
  const std::uint32_t loss = *writer->metric("loss");
  store->is_gone = true;
  int kept = 0;
  while (true) {
    writer->log(loss, kept, kept);
    const Status flushed = writer->flush();
    if (!flushed) {
      EXPECT_EQ(flushed.error().code, Code::kResourceExhausted);
      break;
    }
    ++kept;
    ASSERT_LT(kept, 2000);
  }
  EXPECT_EQ(writer->counts().dropped, 1U);
  store->is_gone = false;
  ASSERT_TRUE(writer->publish(seconds(10)));
  writer->log(loss, kept + 1, kept + 1);
  ASSERT_TRUE(writer->close(seconds(10)));
  EXPECT_EQ(writer->counts().dropped, 1U);
  const MetricSeries series = verified(0);
  ASSERT_EQ(series.steps.size(), static_cast<std::size_t>(kept) + 1);
  for (int i = 0; i < kept; ++i) EXPECT_EQ(series.steps[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(series.steps.back(), kept + 1) << "all but the one that was dropped";
}

TEST_F(Outage, AClockThatJumpsBackLosesNoPointAndNoTime) {
  std::atomic<std::int64_t> wall_ms = 1'790'000'000'000;
  const auto clock = [&] { return std::chrono::system_clock::time_point(milliseconds(wall_ms++)); };
  const auto writer = open(0, {.wall_clock = clock});
  const std::uint32_t loss = *writer->metric("loss");
  std::vector<std::int64_t> times;
  for (int step = 0; step < 300; ++step) {
    if (step % 100 == 99) wall_ms -= 3'600'000;
    times.push_back(wall_ms * 1000);
    writer->log(loss, step, step);
    if (step % 50 != 49) continue;
    ASSERT_TRUE(writer->publish(seconds(10)));
  }
  ASSERT_TRUE(writer->close(seconds(10)));
  EXPECT_EQ(verified(0).times_us, times);
  ASSERT_TRUE(compact_log(log(0), {}));
  EXPECT_EQ(verified(0).times_us, times);
}

TEST_F(Outage, StepsThatGoBackAndValuesThatAreNoNumbersComeBackBitByBit) {
  const auto writer = open(0);
  const std::uint32_t loss = *writer->metric("loss");
  const std::vector<std::int64_t> steps = {5, 4, 4, INT64_MAX, INT64_MIN, 0, -1, 5};
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {NAN, -NAN, inf, -inf, -0.0, 5e-324, 1.7e308, 0.1};
  for (std::size_t i = 0; i < steps.size(); ++i) writer->log(loss, steps[i], values[i]);
  ASSERT_TRUE(writer->close(seconds(10)));
  const MetricSeries series = verified(0);
  EXPECT_EQ(series.steps, steps);
  ASSERT_EQ(series.values.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(series.values[i]), std::bit_cast<std::uint64_t>(values[i])) << i;
}

TEST_F(Outage, AMillionDistinctKeysAreKept) {
  const std::size_t keys = cases(1'000'000);
  const auto writer = open(0);
  for (std::size_t key = 0; key < keys; ++key)
    writer->log(*writer->metric(concat("gradient/", key)), 3, static_cast<double>(key) + 0.25);
  ASSERT_TRUE(writer->close(seconds(120)));
  EXPECT_EQ(writer->counts().dropped, 0U);
  const auto opened = MetricLog::open(log(0), {});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->names().size(), keys);
  const auto series = opened->read(concat("gradient/", keys - 1));
  ASSERT_TRUE(series) << series.error().message;
  EXPECT_EQ(series->steps, std::vector<std::int64_t>{3});
  EXPECT_EQ(series->values, std::vector<double>{static_cast<double>(keys) - 0.75});
}

}  // namespace
}  // namespace headrace

#include "headrace/metrics/compact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/metric_writer.h"
#include "headrace/metrics/version1_segment_test.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;

class KilledStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    if (!removes) return Error{Code::kUnavailable, "killed"};
    return ForwardingStore::remove_many(keys, options);
  }
  bool removes = true;
};

// Another process compacts the log just before a segment is read whole.
class OvertakenStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    if (const auto other = std::exchange(overtakes, nullptr)) other();
    return ForwardingStore::stat(key, options);
  }
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (options.is_whole) {
      if (const auto other = std::exchange(overtakes, nullptr)) other();
    }
    return ForwardingStore::read_into(key, target, options);
  }
  std::function<void()> overtakes{};
};

class CompactTest : public testing::Test {
 protected:
  void write_segments(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t number = first; number < first + count; ++number) {
      const auto step = static_cast<std::int64_t>(number);
      const std::vector<MetricPoint> points = {{0, step, 10 * step, 0.5 + static_cast<double>(number)},
                                               {number % 2 == 0 ? 1U : 0U, step, 10 * step, 7}};
      const std::vector<std::string> names = {"loss", "even"};
      const Bytes segment =
          encode_segment({.first = number, .last = number, .previous = previous_, .points_digest = Bytes(32)},
                         names, points);
      ASSERT_TRUE(store->write(log.at(segment_name(number, number)).key, segment, {}));
      previous_ = sha256(segment);
    }
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    const auto objects = list_all(*store, "");
    for (const ObjectInfo& object : *objects) found.push_back(object.key.substr(4));
    return found;
  }
  MetricSeries read(std::string_view name) const {
    const auto opened = MetricLog::open(log, {});
    EXPECT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE(opened->verify());
    return *opened->read(name);
  }

  std::shared_ptr<KilledStore> store = std::make_shared<KilledStore>(make_memory_store("test"));
  Location log{store, "log", {"memory", "test", "log"}};

 private:
  Bytes previous_;
};

TEST_F(CompactTest, ReadersSeeTheSamePoints) {
  write_segments(0, 9);
  const MetricSeries before = read("loss");
  const auto done = compact_log(log, {});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->written, 1U);
  EXPECT_EQ(done->removed, 9U);
  EXPECT_THAT(names(), ElementsAre("000000-000008"));
  const MetricSeries after = read("loss");
  EXPECT_EQ(after.steps, before.steps);
  EXPECT_EQ(after.times_us, before.times_us);
  EXPECT_EQ(after.values, before.values);
  EXPECT_EQ(compact_log(log, {})->written, 0U);
}

TEST_F(CompactTest, SegmentsOfVersion1BecomeOneOfVersion2) {
  ASSERT_TRUE(store->write(log.at("000000").key, version1_segment(0), {}));
  ASSERT_TRUE(store->write(log.at("000001").key, version1_segment(1), {}));
  const MetricSeries before = *MetricLog::open(log, {})->read("loss");
  ASSERT_EQ(before.values.size(), 400U);
  ASSERT_TRUE(compact_log(log, {}));
  EXPECT_THAT(names(), ElementsAre("000000-000001"));
  const auto opened = MetricLog::open(log, {});
  EXPECT_EQ(opened->segments()[0].footer.version, 2U);
  EXPECT_EQ(opened->from_step(), 4);
  const MetricSeries after = read("loss");
  EXPECT_EQ(after.steps, before.steps);
  EXPECT_EQ(after.times_us, before.times_us);
  ASSERT_EQ(after.values.size(), before.values.size());
  for (std::size_t i = 0; i < before.values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(after.values[i]), std::bit_cast<std::uint64_t>(before.values[i]));
}

TEST_F(CompactTest, ALogThatGrowsIsCompactedAgain) {
  write_segments(0, 4);
  ASSERT_TRUE(compact_log(log, {}));
  write_segments(4, 3);
  EXPECT_THAT(names(), ElementsAre("000000-000003", "000004", "000005", "000006"));
  EXPECT_EQ(read("loss").steps.size(), 10U);
  ASSERT_TRUE(compact_log(log, {}));
  EXPECT_THAT(names(), ElementsAre("000000-000006"));
  EXPECT_EQ(read("loss").steps.size(), 10U);
}

TEST_F(CompactTest, AKillBeforeTheRemovalCountsNothingTwice) {
  write_segments(0, 4);
  store->removes = false;
  EXPECT_FALSE(compact_log(log, {}));
  EXPECT_EQ(names().size(), 5U);
  EXPECT_EQ(read("even").steps, (std::vector<std::int64_t>{0, 2}));
  store->removes = true;
  write_segments(4, 1);
  ASSERT_TRUE(compact_log(log, {}));
  EXPECT_EQ(read("even").steps, (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_THAT(names(), ElementsAre("000000-000004"));
}

TEST_F(CompactTest, OneThatWasStalledLeavesNothingForLong) {
  write_segments(0, 4);
  write_segments(4, 4);
  ASSERT_TRUE(compact_log(log, {}));
  // It had read the first segments, went on, and wrote what it had of them.
  const std::vector<MetricPoint> points = {{0, 0, 0, 0.5}};
  const Bytes stalled = encode_segment({.first = 0, .last = 3}, std::vector<std::string>{"loss"}, points);
  ASSERT_TRUE(store->write(log.at("000000-000003").key, stalled, {}));
  EXPECT_EQ(read("even").steps, (std::vector<std::int64_t>{0, 2, 4, 6}));
  ASSERT_TRUE(compact_log(log, {}));
  EXPECT_THAT(names(), ElementsAre("000000-000007"));
}

TEST_F(CompactTest, SeveralAtOnceAndReadersMeanwhile) {
  write_segments(0, 40);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const auto done = compact_log(log, {});
      EXPECT_TRUE(done) << done.error().message;
    });
    threads.emplace_back([&] {
      const auto opened = MetricLog::open(log, {});
      ASSERT_TRUE(opened) << opened.error().message;
    });
  }
  threads.clear();
  EXPECT_EQ(read("loss").steps.size(), 60U);
}

// docs/reference/run-requests.md
TEST_F(CompactTest, CostsTwoReadsForEachSegment) {
  write_segments(0, 40);
  const auto metrics = std::make_shared<StoreMetrics>();
  ASSERT_EQ(compact_log(make_metered(log, metrics), {})->written, 1U);
  EXPECT_EQ(metrics->of(StoreOperation::kRead).calls, 80U);
  EXPECT_EQ(metrics->of(StoreOperation::kList).calls, 1U);
  EXPECT_EQ(metrics->of(StoreOperation::kWrite).calls, 1U);
  EXPECT_EQ(metrics->of(StoreOperation::kRemove).calls, 1U);
  EXPECT_EQ(metrics->of(StoreOperation::kStat).calls, 0U);
}

TEST_F(CompactTest, OneThatMissesASegmentBeginsAgain) {
  write_segments(0, 4);
  const auto overtaken = std::make_shared<OvertakenStore>(store);
  overtaken->overtakes = [&] { ASSERT_TRUE(compact_log(log, {})); };
  const auto done = compact_log({overtaken, log.key, log.url}, {});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->written, 0U);
  EXPECT_THAT(names(), ElementsAre("000000-000003"));
}

TEST_F(CompactTest, ASegmentThatIsCompactedWhileItIsComparedCountsAsWritten) {
  write_segments(0, 2);
  const auto overtaken = std::make_shared<OvertakenStore>(store);
  overtaken->overtakes = [&] { ASSERT_TRUE(compact_log(log, {})); };
  const auto digest =
      write_segment_of({.digest = Bytes(32)}, 1, Bytes(32), {overtaken, log.key, log.url}, {});
  EXPECT_TRUE(digest) << digest.error().message;
  EXPECT_THAT(names(), ElementsAre("000000-000001"));
}

TEST_F(CompactTest, WhoeverVerifiesALogThatIsCompactedListsItAgain) {
  write_segments(0, 4);
  const auto overtaken = std::make_shared<OvertakenStore>(store);
  const auto opened = MetricLog::open({overtaken, log.key, log.url}, {});
  ASSERT_TRUE(opened);
  overtaken->overtakes = [&] { ASSERT_TRUE(compact_log(log, {})); };
  const Status verified = opened->verify();
  EXPECT_TRUE(verified) << verified.error().message;
}

TEST_F(CompactTest, ALogThatIsRemovedWhileItIsReadIsNotEmpty) {
  write_segments(0, 4);
  const auto opened = MetricLog::open(log, {});
  ASSERT_TRUE(opened);
  for (const std::string& name : names()) ASSERT_TRUE(remove_object(*store, log.at(name).key));
  EXPECT_EQ(opened->read("loss").error().code, Code::kNotFound);
  EXPECT_EQ(opened->verify().error().code, Code::kNotFound);
}

TEST_F(CompactTest, WhoeverHasOpenedItBeforeReadsOn) {
  write_segments(0, 4);
  const auto opened = MetricLog::open(log, {});
  ASSERT_TRUE(opened);
  ASSERT_TRUE(compact_log(log, {}));
  const auto series = opened->read("loss");
  ASSERT_TRUE(series) << series.error().message;
  EXPECT_EQ(series->steps, (std::vector<std::int64_t>{0, 1, 1, 2, 3, 3}));
}

TEST_F(CompactTest, DamageRemovesNothing) {
  write_segments(0, 4);
  ASSERT_TRUE(write_text(*store, log.at("000002").key, "damaged"));
  EXPECT_EQ(compact_log(log, {}).error().code, Code::kDataLoss);
  EXPECT_EQ(names().size(), 4U);
}

}  // namespace
}  // namespace headrace

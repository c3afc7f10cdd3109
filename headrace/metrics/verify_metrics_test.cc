#include "headrace/metrics/verify_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/metrics/compact.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class WatchedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    if (is_out_of_reach) return Error{Code::kUnavailable, "out of reach"};
    if (const auto other = std::exchange(before_reading, nullptr)) other();
    return ForwardingStore::stat(key, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    return ForwardingStore::list(prefix, options, [&](const ObjectInfo& object) {
      ObjectInfo shown = object;
      if (const auto size = shown_bytes.find(object.key); size != shown_bytes.end())
        shown.size_bytes = size->second;
      return visit(shown);
    });
  }
  std::function<void()> before_reading{};  // a segment as a whole
  bool is_out_of_reach = false;
  std::map<std::string, std::uint64_t, std::less<>> shown_bytes{};
};

class VerifyMetricsTest : public testing::Test {
 protected:
  Location log(std::string_view name) const { return root.at(concat(kMetricsPrefix, "run/", name)); }
  std::string key(std::string_view name, std::uint64_t segment) const {
    return log(name).at(segment_name(segment, segment)).key;
  }
  void write_log(std::string_view name, std::uint64_t segments) const {
    Bytes previous;
    for (std::uint64_t i = 0; i < segments; ++i) {
      const std::vector<std::string> names = {"loss"};
      const std::vector<MetricPoint> points = {{0, static_cast<std::int64_t>(i), 10, 0.5}};
      const Bytes segment = encode_segment(
          {.first = i, .last = i, .previous = previous, .points_digest = Bytes(32)}, names, points);
      ASSERT_TRUE(store->write(key(name, i), segment, {}));
      previous = sha256(segment);
    }
  }
  void remove_log(std::string_view name) const {
    const auto objects = list_all(*store, log(name).key);
    for (const ObjectInfo& object : *objects) ASSERT_TRUE(remove_object(*store, object.key));
  }
  VerifiedMetrics verified() const {
    auto found = verify_metrics(root, {});
    EXPECT_TRUE(found) << found.error().message;
    return found ? *std::move(found) : VerifiedMetrics();
  }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>(make_memory_store("test"));
  const Location root{store, "", {"memory", "test", ""}};
};

TEST_F(VerifyMetricsTest, CountsWhatItHasRead) {
  EXPECT_EQ(verified().segments, 0U);
  write_log("a", 3);
  write_log("b", 2);
  EXPECT_EQ(verified().segments, 5U);
  const auto first = read_object(*store, key("a", 0), 1 << 20);
  ASSERT_TRUE(compact_log(log("a"), {}));
  ASSERT_TRUE(store->write(key("a", 0), first->data, {}));  // a compaction that was killed leaves it
  ASSERT_TRUE(write_text(*store, log("b").at("notes.txt").key, "no segment"));
  const VerifiedMetrics found = verified();
  EXPECT_EQ(found.segments, 3U);
  EXPECT_THAT(found.bad, SizeIs(0));
}

TEST_F(VerifyMetricsTest, ALogThatIsRemovedMeanwhileIsLeftOut) {
  write_log("a", 2);
  write_log("b", 2);
  store->before_reading = [&] { remove_log("a"); };
  const VerifiedMetrics found = verified();
  EXPECT_EQ(found.segments, 2U);
  EXPECT_THAT(found.bad, SizeIs(0));
}

TEST_F(VerifyMetricsTest, ABadLogHidesNoOther) {
  for (const char* name : {"altered", "cut", "gap", "large", "whole"}) write_log(name, 2);
  const auto read = read_object(*store, key("altered", 1), 1 << 20);
  Bytes altered = read->data;
  altered.front() ^= std::byte{1};
  ASSERT_TRUE(store->write(key("altered", 1), altered, {}));
  ASSERT_TRUE(write_text(*store, key("cut", 0), "cut"));
  ASSERT_TRUE(remove_object(*store, key("gap", 0)));
  store->shown_bytes[key("large", 1)] = 2 * kSegmentLimitBytes;
  const VerifiedMetrics found = verified();
  ASSERT_THAT(found.bad, SizeIs(4));
  EXPECT_THAT(found.bad[0].problem, HasSubstr("altered/000001"));
  EXPECT_THAT(found.bad[1].url, HasSubstr("cut"));
  EXPECT_THAT(found.bad[2].problem, HasSubstr("is missing"));
  EXPECT_THAT(found.bad[3].problem, HasSubstr("more than a segment can have"));
  EXPECT_EQ(found.segments, 7U);  // of altered and whole 2, of the others 1
}

// Steps and times without equal distances, levels in pieces, and counts of what is not finite.
TEST_F(VerifyMetricsTest, EveryFlippedBitOfALogIsFound) {
  std::vector<MetricPoint> points;
  for (std::int64_t i = 0; i < 1'200; ++i)
    points.push_back({0, 3 * i + i % 2, 10 * i + i % 3, i == 700 ? NAN : static_cast<double>(i % 7)});
  const std::vector<std::string> names = {"loss"};
  const Bytes whole = encode_segment({.points_digest = Bytes(32)}, names, points);
  const auto verify = [&](const Bytes& segment) -> Status {
    EXPECT_TRUE(store->write(key("a", 0), segment, {}));
    HEADRACE_TRY(const MetricLog opened, MetricLog::open(log("a"), {}));
    return opened.verify();
  };
  ASSERT_TRUE(verify(whole));
  const auto footer = read_footer(read_from(whole), whole.size());
  ASSERT_EQ(footer->columns[0].levels.size(), 1U);
  ASSERT_TRUE(footer->axes[0].steps.samples && footer->axes[0].times_us.samples);
  for (std::size_t bit = 0; bit < 8 * whole.size(); bit += 11) {
    Bytes damaged = whole;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(verify(damaged)) << bit;
  }
}

TEST_F(VerifyMetricsTest, AStoreThatCannotBeReachedSaysNothingAboutLogs) {
  write_log("a", 2);
  store->is_out_of_reach = true;
  EXPECT_EQ(verify_metrics(root, {}).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace headrace

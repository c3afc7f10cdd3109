#include "headrace/store/layers/metered.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(MeteredStore, CountsCallsErrorsAndBytesOfEachOperation) {
  const auto metrics = std::make_shared<StoreMetrics>();
  const auto store = make_metered(make_memory_store("test"), metrics);
  ASSERT_TRUE(write_text(*store, "a", "0123456789"));
  Bytes target(100);
  ASSERT_TRUE(store->read_into("a", target, {.offset_bytes = 7}));
  EXPECT_FALSE(store->read_into("b", target, {}));
  EXPECT_FALSE(store->read_into("a", target, {.offset_bytes = 70}));
  EXPECT_FALSE(write_text(*store, "a", "x", {.only_if_absent = true}));
  const std::vector<ReadRequest> ranges = {{"a", 0, MutableBytesView(target).first(4)},
                                           {"a", 5, MutableBytesView(target).first(5)}};
  ASSERT_TRUE(store->read_many(ranges, {}));
  auto upload = store->start_upload("c", {});
  ASSERT_TRUE((*upload)->append(as_bytes("123")) && (*upload)->append(as_bytes("45")));
  ASSERT_TRUE((*upload)->commit());

  const OperationMetrics reads = metrics->of(StoreOperation::kRead);
  EXPECT_EQ(reads.calls, 3U);
  EXPECT_EQ(reads.moved_bytes, 3U);
  EXPECT_THAT(reads.errors, ElementsAre(Pair(Code::kNotFound, 1), Pair(Code::kOutOfRange, 1)));
  const OperationMetrics writes = metrics->of(StoreOperation::kWrite);
  EXPECT_EQ(writes.calls, 2U);
  EXPECT_EQ(writes.moved_bytes, 10U);
  EXPECT_EQ(metrics->of(StoreOperation::kReadMany).moved_bytes, 9U);
  EXPECT_EQ(metrics->of(StoreOperation::kAppend).moved_bytes, 5U);
  EXPECT_EQ(metrics->of(StoreOperation::kCommit).calls, 1U);
  EXPECT_THAT(metrics->of(StoreOperation::kCommit).errors, IsEmpty());
  EXPECT_EQ(metrics->of(StoreOperation::kList).calls, 0U);
}

TEST(StoreMetrics, AreShownAsPrometheusReadsThem) {
  StoreMetrics metrics;
  metrics.add(StoreOperation::kStat, {}, 0, microseconds(500));
  metrics.add(StoreOperation::kStat, {}, 0, milliseconds(2));
  metrics.add(StoreOperation::kStat, Error{Code::kUnavailable, "x"}, 0, seconds(61));
  EXPECT_EQ(metrics.prometheus({{"job", "a\"b\\c\nd"}}),
            R"(# HELP headrace_store_call_seconds How long calls took.
# TYPE headrace_store_call_seconds histogram
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="1e-04",operation="stat"} 0
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="5e-04",operation="stat"} 1
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="0.001",operation="stat"} 1
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="0.005",operation="stat"} 2
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="0.01",operation="stat"} 2
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="0.05",operation="stat"} 2
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="0.1",operation="stat"} 2
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="0.5",operation="stat"} 2
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="1",operation="stat"} 2
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="5",operation="stat"} 2
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="10",operation="stat"} 2
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="60",operation="stat"} 2
headrace_store_call_seconds_bucket{job="a\"b\\c\nd",le="+Inf",operation="stat"} 3
headrace_store_call_seconds_sum{job="a\"b\\c\nd",operation="stat"} 61.0025
headrace_store_call_seconds_count{job="a\"b\\c\nd",operation="stat"} 3
# HELP headrace_store_errors_total Calls that failed.
# TYPE headrace_store_errors_total counter
headrace_store_errors_total{code="UNAVAILABLE",job="a\"b\\c\nd",operation="stat"} 1
# HELP headrace_store_bytes_total Bytes read and written.
# TYPE headrace_store_bytes_total counter
headrace_store_bytes_total{job="a\"b\\c\nd",operation="stat"} 0
)");
}

TEST(StoreMetrics, WithoutLabelsHaveNoBraces) {
  EXPECT_EQ(prometheus_of({{"requests_total", "Requests sent.", 7}}),
            "# HELP headrace_store_requests_total Requests sent.\n"
            "# TYPE headrace_store_requests_total counter\n"
            "headrace_store_requests_total 7\n");
}

}  // namespace
}  // namespace headrace

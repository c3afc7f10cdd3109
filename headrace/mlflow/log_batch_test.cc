#include "headrace/mlflow/log_batch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headrace/base/text.h"
#include "headrace/mlflow/recent_points.h"

namespace headrace::mlflow {
namespace {

Status read_padded(std::string_view text, const std::function<void(const LogBatch&)>& check) {
  std::string padded(text);
  padded.append(kBatchPaddingBytes, '\0');
  return read_log_batch(std::string_view(padded).substr(0, text.size()),
                        [&](const LogBatch& batch) -> Status {
                          check(batch);
                          return {};
                        });
}

TEST(LogBatch, IsReadAsClientsWriteIt) {
  const Status read = read_padded(
      R"({"run_id": "r", "metrics": [
          {"key": "lo\u00df", "value": 0.5, "timestamp": 1700000000000, "step": -3},
          {"step": "7", "timestamp": "1", "value": "NaN", "key": "a", "unknown": [1]},
          {"key": "b", "value": 5, "timestamp": 0, "model_id": "m-1",
           "dataset_name": "d", "dataset_digest": "e"}],
          "params": [{"key": "p", "value": "1"}], "tags": [{"key": "t", "value": ""}], "other": null})",
      [](const LogBatch& batch) {
        EXPECT_EQ(batch.run_id, "r");
        ASSERT_EQ(batch.points.size(), 3U);
        EXPECT_EQ(batch.points[0].key, "loß");
        EXPECT_EQ(batch.points[0].step, -3);
        EXPECT_EQ(batch.points[1].step, 7);
        EXPECT_TRUE(std::isnan(batch.points[1].value));
        EXPECT_EQ(batch.points[2].value, 5.0);
        EXPECT_EQ(batch.points[2].dataset_digest, "e");
        EXPECT_EQ(batch.params[0].second, "1");
        EXPECT_EQ(batch.tags[0].first, "t");
      });
  EXPECT_TRUE(read) << read.error().message;
}

TEST(LogBatch, WhatUseReturnsIsReturned) {
  const std::string body = R"({"run_uuid": "r"})" + std::string(kBatchPaddingBytes, ' ');
  const Status used = read_log_batch(body, [](const LogBatch&) -> Status {
    return Error{Code::kAborted, "x"};
  });
  EXPECT_EQ(used.error().code, Code::kAborted);
}

TEST(LogBatch, AnythingElseIsRefused) {
  const auto metric = [](std::string_view members) {
    return concat(R"({"run_id": "r", "metrics": [{)", members, "}]}");
  };
  for (const std::string& text : {std::string(""),
                                  std::string("[]"),
                                  std::string("{\"run_id\": \"r\"} x"),
                                  std::string("{}"),
                                  std::string(R"({"run_id": "a/b"})"),
                                  std::string(R"({"run_id": ["r"]})"),
                                  std::string("{\"run_id\": \"\xff\"}"),
                                  std::string(R"({"run_id": "r", "metrics": {}})"),
                                  std::string(R"({"run_id": "r", "params": [[]]})"),
                                  metric(""),
                                  metric(R"("key": "a")"),
                                  metric(R"("key": "a", "value": null)"),
                                  metric(R"("key": "a", "value": "infinity")"),
                                  metric(R"("key": "a", "value": true)"),
                                  metric(R"("key": 1, "value": 1)"),
                                  metric(R"("key": "a", "value": 1, "step": 1.5)"),
                                  metric(R"("key": "a", "value": 1, "step": 9223372036854775808)"),
                                  metric(R"("value": 1)"),
                                  metric(R"("key": "a", "value": 1, "timestamp": -1)"),
                                  metric(R"("key": "/a", "value": 1)"),
                                  metric(R"("key": "a<b", "value": 1)"),
                                  metric(R"("key": "a", "value": 1, "dataset_name": "d")")}) {
    const Status read = read_padded(text, [](const LogBatch&) { FAIL(); });
    EXPECT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument) << text;
  }
}

TEST(RecentPoints, ARepeatedPointIsKnownUntilManyMoreHaveCome) {
  RecentPoints recent;
  const RecentPoints::Point point{.metric = 1, .step = 2, .time_ms = 3, .value_bits = 4};
  EXPECT_TRUE(recent.insert(point));
  EXPECT_FALSE(recent.insert(point));
  recent.keep();
  for (std::size_t i = 0; i + 1 < RecentPoints::kPoints; ++i) {
    EXPECT_TRUE(recent.insert({.metric = 1, .step = static_cast<std::int64_t>(i), .time_ms = 4}));
    recent.keep();
  }
  EXPECT_FALSE(recent.insert(point));
  for (std::size_t i = 0; i < 2 * RecentPoints::kPoints; ++i) {
    recent.insert({.metric = 2, .step = static_cast<std::int64_t>(i)});
    recent.keep();
  }
  EXPECT_TRUE(recent.insert(point));
}

TEST(RecentPoints, ABatchThatWasNotLoggedIsForgotten) {
  RecentPoints recent;
  EXPECT_TRUE(recent.insert({.metric = 1}));
  recent.forget();
  EXPECT_TRUE(recent.insert({.metric = 1}));
}

}  // namespace
}  // namespace headrace::mlflow

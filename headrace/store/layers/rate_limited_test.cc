#include "headrace/store/layers/rate_limited.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr TokenBucket::Clock::time_point kStart{hours(1'000)};

milliseconds wait(TokenBucket& bucket, double tokens, milliseconds after, milliseconds patience = hours(99)) {
  return std::chrono::duration_cast<milliseconds>(bucket.take(tokens, kStart + after, patience));
}

TEST(TokenBucket, GivesABurstAtOnceAndThenItsRate) {
  TokenBucket bucket(10, 2);
  for (int i = 0; i < 21; ++i) EXPECT_EQ(wait(bucket, 1, seconds(0)), seconds(0)) << i;
  EXPECT_EQ(wait(bucket, 1, seconds(0)), milliseconds(100));
  EXPECT_EQ(wait(bucket, 1, seconds(0)), milliseconds(200));
  EXPECT_EQ(wait(bucket, 1, milliseconds(250)), milliseconds(50));
  EXPECT_EQ(wait(bucket, 1, hours(1)), seconds(0)) << "it is full again";
  for (int i = 0; i < 20; ++i) EXPECT_EQ(wait(bucket, 1, hours(1)), seconds(0)) << i;
  EXPECT_GT(wait(bucket, 1, hours(1)), seconds(0)) << "but no fuller than that";
}

TEST(TokenBucket, WhatIsLargerThanItIsTakenAndPaidForByThoseThatFollow) {
  TokenBucket bucket(10, 1);
  EXPECT_EQ(wait(bucket, 110, seconds(0)), seconds(0));
  EXPECT_EQ(wait(bucket, 1, seconds(0)), seconds(10));
}

TEST(TokenBucket, NothingIsTakenByWhoDoesNotWait) {
  TokenBucket bucket(10, 0);
  EXPECT_EQ(wait(bucket, 100, seconds(0)), seconds(0));
  EXPECT_EQ(wait(bucket, 100, seconds(0), seconds(1)), seconds(10));
  EXPECT_EQ(wait(bucket, 1, seconds(0)), seconds(10));
  bucket.give_back(50);
  EXPECT_EQ(wait(bucket, 1, seconds(0)), milliseconds(5'100));
}

TEST(TokenBucket, OfNoRateIsAlwaysFull) {
  TokenBucket bucket(0, 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(wait(bucket, 1e18, seconds(0)), seconds(0));
}

class RateLimitedStoreTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(memory->write("a", Bytes(1000), {})); }
  // At so slow a rate, whatever waits, waits for hours.
  std::unique_ptr<Store> slow(double bytes, double requests) {
    return make_rate_limited(
        memory, {.bytes_per_second = bytes, .requests_per_second = requests, .burst_seconds = 0});
  }
  const std::shared_ptr<Store> memory = make_memory_store("test");
};

TEST_F(RateLimitedStoreTest, ACallThatWouldWaitTooLongFailsAtOnce) {
  const auto store = slow(0, 1e-4);
  EXPECT_TRUE(store->stat("a", {}));
  const auto second = store->stat("a", {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(second.error().message,
              testing::AllOf(HasSubstr("stat of memory://test/a"), HasSubstr("requests per second")));
}

TEST_F(RateLimitedStoreTest, BytesAreCountedAsTheyMove) {
  const auto store = slow(1, 0);
  Bytes target(1'000'000);
  EXPECT_TRUE(store->stat("a", {})) << "which moves none";
  ASSERT_TRUE(store->read_into("a", target, {.offset_bytes = 1000})) << "nor does this, in the end";
  ASSERT_TRUE(store->read_into("a", target, {}));
  const auto next = store->read_into("a", target, {});
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().message, HasSubstr("bytes per second"));
  EXPECT_FALSE(write_text(*store, "b", "x"));
}

TEST_F(RateLimitedStoreTest, AStopEndsTheWait) {
  const auto store = slow(0, 1e-4);
  ASSERT_TRUE(store->stat("a", {}));
  std::stop_source source;
  source.request_stop();
  const auto stopped = store->stat("a", {.deadline = hours(100), .stop = source.get_token()});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace headrace

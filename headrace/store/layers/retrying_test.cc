#include "headrace/store/layers/retrying.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/layers/faulty.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::EndsWith;

// The first `failures` calls fail, after they had their effect; counts all.
class FailingStore final : public InterceptingStore {
 public:
  using InterceptingStore::InterceptingStore;
  int failures = 0;
  int calls = 0;
  Code code = Code::kUnavailable;

 private:
  Status around(StoreCall&, const std::function<Status()>& go_on) override {
    ++calls;
    Status status = go_on();
    return calls > failures ? status : Error{code, "out of order"};
  }
};

class RetryingStoreTest : public testing::Test {
 protected:
  static RetryOptions quick() {
    return {.max_attempts = 4, .backoff = {.shortest = milliseconds(1), .longest = milliseconds(2)}};
  }
  // What a call gives if so many attempts at it fail so; `failing->calls` says how many there were.
  template <typename Call>
  auto after(int failures, Code code, Call call) {
    failing->failures = failures;
    failing->calls = 0;
    failing->code = code;
    return call(*store);
  }

  const std::shared_ptr<Store> memory = make_memory_store("test");
  const std::shared_ptr<FailingStore> failing = std::make_shared<FailingStore>(memory);
  std::unique_ptr<Store> store = make_retrying(failing, quick());
};

TEST_F(RetryingStoreTest, WhatMayPassIsTriedAgainAndGivenUpInTheEnd) {
  ASSERT_TRUE(write_text(*memory, "a", "text"));
  const auto stat = [](Store& s) { return s.stat("a", {}); };
  EXPECT_TRUE(after(3, Code::kUnavailable, stat));
  EXPECT_EQ(failing->calls, 4);
  EXPECT_TRUE(after(1, Code::kDeadlineExceeded, stat));
  const auto given_up = after(9, Code::kUnavailable, stat);
  EXPECT_EQ(failing->calls, 4);
  EXPECT_EQ(given_up.error().code, Code::kUnavailable);
  EXPECT_EQ(given_up.error().message, "out of order (after 4 attempts)");
}

TEST_F(RetryingStoreTest, AnAnswerIsNotAskedForAgain) {
  for (const Code code : {Code::kNotFound, Code::kPermissionDenied, Code::kCancelled, Code::kInvalidArgument,
                          Code::kFailedPrecondition, Code::kResourceExhausted}) {
    const auto stat = after(1, code, [](Store& s) { return s.stat("a", {}); });
    EXPECT_EQ(stat.error().code, code);
    EXPECT_EQ(stat.error().message, "out of order");
    EXPECT_EQ(failing->calls, 1);
  }
}

TEST_F(RetryingStoreTest, OnlyReadsAreRepeatedWhenBytesWereDamagedOnTheWay) {
  ASSERT_TRUE(write_text(*memory, "a", "text"));
  Bytes target(4);
  EXPECT_TRUE(after(1, Code::kDataLoss, [&](Store& s) { return s.read_into("a", target, {}); }));
  EXPECT_FALSE(after(1, Code::kDataLoss, [&](Store& s) { return write_text(s, "a", "x"); }));
  EXPECT_EQ(failing->calls, 1);
}

TEST_F(RetryingStoreTest, WritesAreRepeatedUnlessTheirOwnSuccessCouldRefuseThem) {
  const auto write = [](const WriteOptions& options) {
    return [options](Store& s) { return write_text(s, "a", "x", options); };
  };
  EXPECT_TRUE(after(1, Code::kUnavailable, write({})));
  EXPECT_EQ(failing->calls, 2);
  const Version now = memory->stat("a", {})->version;
  for (const WriteOptions& options :
       {WriteOptions{.only_if_absent = true}, WriteOptions{.if_version = now}}) {
    ASSERT_TRUE(remove_object(*memory, "a"));
    EXPECT_FALSE(after(1, Code::kUnavailable, write(options)));
    EXPECT_EQ(failing->calls, 1);
  }
  ASSERT_TRUE(write_text(*memory, "a", "x"));
  EXPECT_TRUE(after(1, Code::kUnavailable, [](Store& s) { return s.copy("a", "b", {}); }));
  EXPECT_FALSE(
      after(1, Code::kUnavailable, [](Store& s) { return s.copy("a", "c", {.only_if_absent = true}); }));
  EXPECT_TRUE(after(1, Code::kUnavailable, [](Store& s) { return remove_object(s, "a"); }));
}

TEST_F(RetryingStoreTest, AnUploadIsStartedAgainButItsPiecesAreNotRepeated) {
  auto upload =
      after(1, Code::kUnavailable, [](Store& s) { return s.start_upload("a", {.only_if_absent = true}); });
  ASSERT_TRUE(upload);
  EXPECT_EQ(failing->calls, 2);
  const auto append = after(1, Code::kUnavailable, [&](Store&) { return (*upload)->append(as_bytes("x")); });
  EXPECT_FALSE(append);
  EXPECT_EQ(failing->calls, 1);
  EXPECT_FALSE(after(1, Code::kUnavailable, [&](Store&) { return (*upload)->commit(); }));
  EXPECT_EQ(failing->calls, 1);
}

// Visits so many objects, then fails, as long as there are more.
class InterruptedList final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    int visited = 0;
    bool was_enough = false;
    HEADRACE_CHECK(inner().list(prefix, options, [&](const ObjectInfo& object) {
      if (visited == 2) return false;
      was_enough = !visit(object);
      return ++visited < 2 && !was_enough;
    }));
    return visited == 2 ? Status(Error{Code::kUnavailable, "interrupted"}) : Status();
  }
};

TEST_F(RetryingStoreTest, AListingGoesOnBehindWhatItHasVisited) {
  for (const char* key : {"a", "b/1", "b/2", "c", "d"}) ASSERT_TRUE(write_text(*memory, key, "x"));
  const auto interrupted = make_retrying(std::make_shared<InterruptedList>(memory), quick());
  const auto visited = [&](const ListOptions& options, std::size_t most) {
    std::vector<std::string> keys;
    EXPECT_TRUE(interrupted->list("", options, [&](const ObjectInfo& object) {
      keys.push_back(object.key);
      return keys.size() < most;
    }));
    return keys;
  };
  EXPECT_THAT(visited({}, 99), ElementsAre("a", "b/1", "b/2", "c", "d"));
  EXPECT_THAT(visited({.collapse_folders = true}, 99), ElementsAre("a", "b/", "c", "d"));
  EXPECT_THAT(visited({}, 2), ElementsAre("a", "b/1")) << "nothing is visited after enough was";
}

TEST_F(RetryingStoreTest, AllCallsTogetherHaveABudget) {
  RetryOptions options = quick();
  options.budget = 5;
  store = make_retrying(failing, options);
  const auto stat = [](Store& s) { return s.stat("a", {}); };
  int attempts = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(after(99, Code::kUnavailable, stat));
    attempts += failing->calls;
  }
  EXPECT_EQ(attempts, 10 + 5);
}

TEST_F(RetryingStoreTest, AStopEndsThePause) {
  RetryOptions options = quick();
  options.backoff = {.shortest = hours(1), .longest = hours(1)};
  store = make_retrying(failing, options);
  std::stop_source source;
  source.request_stop();
  const auto stopped =
      after(1, Code::kUnavailable, [&](Store& s) { return s.stat("a", {.stop = source.get_token()}); });
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  EXPECT_THAT(stopped.error().message, EndsWith("stat of memory://test/a, which had failed: out of order"));
}

}  // namespace
}  // namespace headrace

#include "headrace/mlflow/state_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/mlflow/state_text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace::mlflow {
namespace {

Location memory_folder(std::string_view key) {
  return {std::shared_ptr<Store>(make_memory_store("test")), std::string(key),
          Url{"memory", "test", std::string(key)}};
}

Status add_name(Json& state, std::string_view name) {
  const auto count = state.get_or<std::int64_t>("count", 0);
  state[name] = count;
  state["count"] = count + 1;
  return {};
}

StateLog::Edit adding(std::string name) {
  return [name = std::move(name)](Json& state) { return add_name(state, name); };
}

Status refuse(Json&) { return Error{Code::kInvalidArgument, "no"}; }

TEST(StateLog, EachWriterHasSeenEverythingBeforeItsChange) {
  const Location folder = memory_folder("states");
  StateLog first(folder, "kind"), second(folder, "kind");
  ASSERT_TRUE(first.change(adding("a"), {}));
  ASSERT_TRUE(second.change(adding("b"), {}));
  const auto third = first.change(adding("c"), {});
  ASSERT_TRUE(third);
  EXPECT_EQ((**third)["count"], Json(3));
  EXPECT_EQ((**third)["b"], Json(1));
  EXPECT_EQ(**second.load({}), **third);
  EXPECT_EQ(list_all(*folder.store, "states/")->size(), 3U);
}

TEST(StateLog, WhatChangesNothingAndWhatIsRefusedWriteNothing) {
  const Location folder = memory_folder("states");
  StateLog log(folder, "kind"), other(folder, "kind");
  ASSERT_TRUE(log.change(adding("a"), {}));
  ASSERT_TRUE(other.change([](Json&) { return Status{}; }, {}));
  const Error error{Code::kInvalidArgument, "no"};
  EXPECT_EQ(other.change([&](Json&) -> Status { return error; }, {}).error().message, "no");
  EXPECT_EQ(other.change([](Json& state) -> Status { return state["a"].text(), Status{}; }, {}).error().code,
            Code::kDataLoss);
  EXPECT_EQ(list_all(*folder.store, "states/")->size(), 1U);
}

TEST(StateLog, AnErrorOfAnOldStateIsJudgedByTheLatest) {
  const Location folder = memory_folder("states");
  StateLog log(folder, "kind"), other(folder, "kind");
  ASSERT_TRUE(other.change(adding("there"), {}));
  const auto changed = log.change(
      [](Json& state) -> Status {
        if (!state.contains("there")) return Error{Code::kNotFound, "not there"};
        state["found"] = true;
        return {};
      },
      {});
  ASSERT_TRUE(changed);
  EXPECT_EQ((**changed)["found"], Json(true));
}

TEST(StateLog, ThreadsAndLogsThatRaceLoseNoChange) {
  const Location folder = memory_folder("states");
  StateLog logs[2] = {{folder, "kind"}, {folder, "kind"}};
  std::vector<std::thread> threads;
  for (int who = 0; who < 4; ++who) {
    threads.emplace_back([&, who] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(logs[who % 2].change(adding(concat(who, "-", i)), {}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((**logs[0].load({}))["count"], Json(80));
}

// The first write is made, and its answer is lost. `meanwhile` runs before the driver repeats the write,
// which finds its key taken.
class LostAnswerStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    auto written = ForwardingStore::write(key, data, options);
    if (!written || !meanwhile) return written;
    std::exchange(meanwhile, nullptr)();
    return ForwardingStore::write(key, data, options);
  }
  std::function<void()> meanwhile;
};

TEST(StateLog, AChangeWhoseAnswerWasLostIsMadeOnceWhoeverWritesMeanwhile) {
  for (const int others : {0, 1, 3}) {
    const Location folder = memory_folder("states");
    const auto store = std::make_shared<LostAnswerStore>(folder.store);
    StateLog log({store, folder.key, folder.url}, "kind"), other(folder, "kind");
    store->meanwhile = [&] {
      for (int i = 0; i < others; ++i) EXPECT_TRUE(other.change(adding(concat("other-", i)), {}));
    };
    const auto changed = log.change(adding("own"), {});
    ASSERT_TRUE(changed);
    EXPECT_EQ((**changed)["count"], Json(others + 1));
    EXPECT_EQ((**changed)["own"], Json(0));
    EXPECT_EQ(list_all(*folder.store, "states/")->size(), static_cast<std::size_t>(others) + 1);
  }
}

TEST(StateLog, AChangeWhoseNumberOthersHaveTakenIsMadeAfterThem) {
  const Location folder = memory_folder("states");
  StateLog log(folder, "kind"), other(folder, "kind");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(other.change(adding(concat("other-", i)), {}));
  const auto changed = log.change(adding("own"), {});
  ASSERT_TRUE(changed);
  EXPECT_EQ((**changed)["own"], Json(3));
}

// Holds the first write until it is told to go on.
class HeldWriteStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (writes++ == 0) {
      has_begun.count_down();
      may_go_on.wait();
    } else if (is_exhausted) {
      return Error{Code::kResourceExhausted, "the store has no room"};
    }
    return ForwardingStore::write(key, data, options);
  }
  std::atomic<int> writes = 0;
  bool is_exhausted = false;  // after the first write; set before it
  std::latch has_begun{1};
  std::latch may_go_on{1};
};

TEST(StateLog, ChangesThatWaitForAWriteAreWrittenTogetherAndTooManyAreRefused) {
  Location folder = memory_folder("states");
  const auto store = std::make_shared<HeldWriteStore>(folder.store);
  folder.store = store;
  StateLog log(folder, "kind");
  std::vector<std::thread> threads;
  threads.emplace_back([&] { EXPECT_TRUE(log.change(adding("first"), {})); });
  store->has_begun.wait();
  std::atomic<int> refused = 0, changed = 0;
  std::latch one_is_refused(1);
  const auto add = [&](const std::string& name) {
    const auto added = log.change(name == "1" ? StateLog::Edit(refuse) : adding(name), {});
    if (added) ++changed;
    if (added || added.error().code != Code::kResourceExhausted) return;
    EXPECT_EQ(log.known()->is_null(), true);  // it did not wait
    if (refused++ == 0) one_is_refused.count_down();
  };
  for (std::size_t i = 0; i <= StateLog::kMostWaiting; ++i) threads.emplace_back([&, i] { add(concat(i)); });
  one_is_refused.wait();
  EXPECT_TRUE(log.load({}));  // a reader waits for nobody
  store->may_go_on.count_down();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 1);
  EXPECT_GE(changed, static_cast<int>(StateLog::kMostWaiting) - 1);
  EXPECT_EQ((**log.load({}))["count"], Json(changed + 1));
  EXPECT_EQ(store->writes, 2);
}

// Changes that are written together, since they wait for the write of another one.
class ChangedTogether : public testing::Test {
 protected:
  ChangedTogether() : store_(std::make_shared<HeldWriteStore>(folder_.store)) {
    folder_.store = store_;
    log_ = std::make_unique<StateLog>(folder_, "kind");
  }

  // An error, or "changed", or what was thrown: of each.
  std::vector<std::string> change_all(const std::vector<StateLog::Edit>& edits) {
    std::thread first([&] { EXPECT_TRUE(log_->change(adding("first"), {})); });
    store_->has_begun.wait();
    std::vector<std::string> outcomes(edits.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < edits.size(); ++i) {
      threads.emplace_back([&, i] { outcomes[i] = change(edits[i]); });
    }
    while (log_->waiting() < edits.size()) std::this_thread::yield();
    store_->may_go_on.count_down();
    first.join();
    for (std::thread& each : threads) each.join();
    return outcomes;
  }
  std::string change(const StateLog::Edit& edit) {
    try {
      const auto changed = log_->change(edit, {});
      return changed ? "changed" : changed.error().message;
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }

  Location folder_ = memory_folder("states");
  const std::shared_ptr<HeldWriteStore> store_;
  std::unique_ptr<StateLog> log_;
};

TEST_F(ChangedTogether, OneThatIsTooLargeLeavesTheOthers) {
  const auto grow = [](Json& state) { return state["long"] = std::string(kStateBytesMax, 'x'), Status{}; };
  const std::vector<std::string> outcomes = change_all({grow, adding("small")});
  EXPECT_NE(outcomes[0].find("Log large texts as artifacts"), std::string::npos) << outcomes[0];
  EXPECT_EQ(outcomes[1], "changed");
  EXPECT_EQ((**log_->load({}))["small"], Json(1));
}

TEST_F(ChangedTogether, AStoreWithoutRoomIsAskedOnce) {
  store_->is_exhausted = true;
  const std::vector<std::string> outcomes = change_all({adding("a"), adding("b")});
  EXPECT_EQ(outcomes, std::vector<std::string>(2, "the store has no room"));
  EXPECT_EQ(store_->writes, 2);
}

TEST_F(ChangedTogether, OneThatThrowsEndsTheWaitOfTheOthers) {
  const auto fail = [](Json&) -> Status { throw std::runtime_error("thrown"); };
  std::vector<std::string> outcomes = change_all({fail, fail, adding("other")});
  std::ranges::sort(outcomes);
  EXPECT_EQ(outcomes, (std::vector<std::string>{"thrown", "writing failed", "writing failed"}));
  EXPECT_EQ(change(adding("later")), "changed");
  EXPECT_EQ(change(fail), "thrown");
  EXPECT_EQ(change(adding("latest")), "changed");
}

TEST(StateLog, DamagedAndTooLargeStatesAreErrors) {
  const Location folder = memory_folder("states");
  StateLog log(folder, "kind"), other(folder, "kind");
  ASSERT_TRUE(log.change(adding("a"), {}));
  EXPECT_EQ(
      log.change([](Json& state) { return state["long"] = std::string(kStateBytesMax, 'x'), Status{}; }, {})
          .error()
          .code,
      Code::kResourceExhausted);
  ASSERT_TRUE(write_text(*folder.store, "states/00000002", "{}\n"));
  EXPECT_EQ(other.load({}).error().code, Code::kDataLoss);
}

TEST(StateLog, AFolderOfLogsIsReadTogether) {
  const Location folder = memory_folder("runs");
  for (const char* name : {"a", "b"}) {
    StateLog log(folder.at(name), "kind");
    ASSERT_TRUE(log.change(adding("first"), {}));
    ASSERT_TRUE(log.change(adding("second"), {}));
  }
  ASSERT_TRUE(write_text(*folder.store, "runs/c/00000001", "damaged"));
  std::map<std::string, std::shared_ptr<StateLog>> logs;
  std::vector<std::string> remarks;
  const auto names = load_latest_states(
      folder,
      [&](const std::string& name) {
        return logs[name] = std::make_shared<StateLog>(folder.at(name), "kind");
      },
      [&](const std::string& remark) { remarks.push_back(remark); }, {});
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ((*logs["b"]->known())["second"], Json(1));
  EXPECT_TRUE(logs["c"]->known()->is_null());
  EXPECT_EQ(remarks.size(), 1U);
}

}  // namespace
}  // namespace headrace::mlflow

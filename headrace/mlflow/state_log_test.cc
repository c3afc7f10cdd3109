#include "headrace/mlflow/state_log.h"

#include <gtest/gtest.h>

#include <thread>

#include "headrace/base/text.h"
#include "headrace/mlflow/state_text.h"
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

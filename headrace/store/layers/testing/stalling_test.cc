#include "headrace/store/layers/testing/stalling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

class StallingStoreTest : public testing::Test {
 protected:
  std::unique_ptr<Store> stalling(const StallOptions& options) {
    control = std::make_shared<StallControl>(options);
    return make_stalling(memory, control);
  }
  bool has(const std::string& key) { return memory->stat(key, {}).has_value(); }

  const std::shared_ptr<Store> memory = make_memory_store("test");
  std::shared_ptr<StallControl> control;
};

TEST_F(StallingStoreTest, ACallWaitsUntilItIsReleasedAndIsMadeThen) {
  const auto store = stalling({.stall_at = 2});
  std::jthread command([&] {
    for (const char* key : {"a", "b", "c"}) EXPECT_TRUE(write_text(*store, key, "x"));
    control->end();
  });
  ASSERT_TRUE(control->wait_for_stall());
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(has("b"));
  control->release();
  command.join();
  EXPECT_TRUE(has("b"));
  EXPECT_TRUE(has("c"));
  EXPECT_THAT(control->trace(), testing::ElementsAre("1 write a", "2 write b (stalled)", "3 write c"));
}

TEST_F(StallingStoreTest, TheCallThatKillsIsMadeAndNoneAfterIt) {
  const auto store = stalling({.kill_at = 2});
  EXPECT_TRUE(write_text(*store, "a", "x"));
  EXPECT_FALSE(control->was_killed());
  EXPECT_FALSE(write_text(*store, "b", "x")) << "its answer is lost";
  EXPECT_TRUE(control->was_killed());
  EXPECT_FALSE(write_text(*store, "c", "x"));
  EXPECT_TRUE(has("b"));
  EXPECT_FALSE(has("c"));
}

TEST_F(StallingStoreTest, ACommandThatEndsBeforeItsStallIsNotWaitedFor) {
  const auto store = stalling({.stall_at = 2});
  EXPECT_FALSE(store->stat("a", {}));
  control->end();
  EXPECT_FALSE(control->wait_for_stall());
  EXPECT_EQ(control->calls(), 1U);
  EXPECT_THAT(control->trace(), testing::ElementsAre("1 stat a: NOT_FOUND"));
}

}  // namespace
}  // namespace headrace

#include "headrace/track/folder_owner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

class FolderOwnerTest : public testing::Test {
 protected:
  FolderOwnerTest() : scratch(testing::TempDir() + "/headrace-folder-owner-XXXXXX") {
    EXPECT_NE(mkdtemp(scratch.data()), nullptr);
  }
  ~FolderOwnerTest() override { std::filesystem::remove_all(scratch); }

  FolderOwner take() { return *FolderOwner::take(folder, "checkpoint", "test", {}); }
  Result<std::uint64_t> publish(FolderOwner& owner, int epoch) {
    const std::string source = concat(scratch, "/", owner.suffix(), epoch);
    std::filesystem::create_directories(source);
    std::ofstream(concat(source, "/variables-", epoch, owner.suffix())) << epoch;
    return owner.publish(source, "variables", {.kind = "checkpoint"});
  }

  std::string scratch;
  const Location folder{make_memory_store("test"), "c", Url{"memory", "test", "c"}};
};

TEST_F(FolderOwnerTest, WhoTakesOverContinuesAndTheOtherPublishesNothing) {
  FolderOwner first = take();
  EXPECT_FALSE(*first.published("checkpoint"));
  ASSERT_TRUE(publish(first, 1));
  FolderOwner second = take();
  ASSERT_TRUE(*second.published("checkpoint"));
  const auto lost = publish(first, 2);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
  EXPECT_TRUE(publish(second, 2));
  EXPECT_EQ(*published_numbers(folder), (std::vector<std::uint64_t>{2, 4}));
}

TEST_F(FolderOwnerTest, OnlyFormerCheckpointsGo) {
  FolderOwner owner = take();
  ASSERT_TRUE(publish(owner, 1));
  ASSERT_TRUE(publish(owner, 2));
  EXPECT_TRUE(owner.unpublish("checkpoint", 2));
  EXPECT_EQ(*owner.numbers(), std::vector<std::uint64_t>{3});
  EXPECT_FALSE(folder.store->stat("c/variables-1", {}));
  const Status latest = owner.unpublish("checkpoint", 3);
  ASSERT_FALSE(latest);
  EXPECT_EQ(latest.error().code, Code::kInvalidArgument);
}

TEST_F(FolderOwnerTest, WhatIsNoFolderOfCheckpointsIsLeftAlone) {
  FolderOwner owner = take();
  ASSERT_TRUE(publish(owner, 1));
  const auto of_another_kind = FolderOwner::take(folder, "keras-checkpoint", "test", {});
  ASSERT_FALSE(of_another_kind);
  EXPECT_EQ(of_another_kind.error().code, Code::kInvalidArgument);
  const Location dataset{folder.store, "d", Url{"memory", "test", "d"}};
  ASSERT_TRUE(Ownership::take(dataset, {}, {.configuration = {{"stage", "prepare 9"}}}));
  const auto of_a_stage = FolderOwner::take(dataset, "checkpoint", "test", {});
  ASSERT_FALSE(of_a_stage);
  EXPECT_EQ(of_a_stage.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(read_chain(dataset)->last, 1U);
}

}  // namespace
}  // namespace headrace

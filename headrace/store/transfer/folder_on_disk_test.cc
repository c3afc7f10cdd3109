#include "headrace/store/transfer/folder_on_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

class FolderOnDiskTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "headrace-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    std::filesystem::create_directories(folder_ + "/outer/inner");
    std::filesystem::create_directories(folder_ + "/other");
    std::filesystem::create_directory_symlink("outer/inner", folder_ + "/to-inner");
    std::filesystem::create_directory_symlink("../other", folder_ + "/outer/to-other");
    std::filesystem::create_symlink("nowhere", folder_ + "/outer/dangling");
    std::filesystem::create_directory_symlink("../other", folder_ + "/outer/l");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Location place(const std::string& name) { return *stores_.open(concat(folder_, "/", name)); }

  std::string folder_;
  StoreRegistry stores_{Environment()};
};

TEST_F(FolderOnDiskTest, AFolderLiesInAnotherByAnyName) {
  EXPECT_TRUE(*lies_in(place("outer/inner"), place("outer")));
  EXPECT_TRUE(*lies_in(place("to-inner"), place("outer")));
  EXPECT_TRUE(*lies_in(place("to-inner"), place("outer/inner")));
  EXPECT_TRUE(*lies_in(place("to-inner/not/there/yet"), place("outer")));
  EXPECT_FALSE(*lies_in(place("outer"), place("to-inner")));
  EXPECT_FALSE(*lies_in(place("outer/to-other"), place("outer")));
  EXPECT_FALSE(*lies_in(place("other"), place("outer")));
  EXPECT_FALSE(*lies_in(place("other"), place("not-there")));
}

TEST_F(FolderOnDiskTest, OtherStoresHaveNoLinks) {
  const Location memory{make_memory_store("a"), "outer", {"memory", "a", "outer"}};
  EXPECT_FALSE(*lies_in(memory, memory));
  EXPECT_TRUE(check_absent(memory, "a/b"));
}

TEST_F(FolderOnDiskTest, WhatLiesBehindALinkIsNotAbsent) {
  const Location outer = place("outer");
  EXPECT_TRUE(check_absent(outer, "a"));
  EXPECT_TRUE(check_absent(outer, "inner/a/b"));
  for (const char* name : {"to-other", "to-other/a", "dangling", "dangling/a/b", "l/a"}) {
    const Status absent = check_absent(outer, name);
    ASSERT_FALSE(absent) << name;
    EXPECT_EQ(absent.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(absent.error().message, testing::HasSubstr(" is a symbolic link"));
  }
  EXPECT_FALSE(check_absent(outer, std::string(300, 'n'))) << "no answer does not mean that it is absent";
}

TEST_F(FolderOnDiskTest, EveryFolderLiesInTheRoot) {
  const Location root = *stores_.open("file:///");
  EXPECT_TRUE(*lies_in(place("outer"), root));
  EXPECT_TRUE(*lies_in(root, root));
  EXPECT_FALSE(*lies_in(root, place("outer")));
  EXPECT_TRUE(*lies_in(*stores_.open("file:///no-such-folder-here/a/b"), root));
}

TEST_F(FolderOnDiskTest, AnObjectThatIsThereHasNoLinkOnItsWay) {
  std::ofstream(folder_ + "/outer/inner/file") << "x";
  EXPECT_TRUE(check_absent(place("outer"), "inner"));
  EXPECT_TRUE(check_absent(place("outer"), "inner/file"));
  EXPECT_TRUE(check_absent(place("outer"), "inner/file/below"));
  EXPECT_TRUE(check_absent(place("outer"), "missing/to-other"));
  std::filesystem::create_symlink("file", folder_ + "/outer/inner/link");
  EXPECT_EQ(check_absent(place("outer"), "inner/link/a").error().code, Code::kFailedPrecondition);
}

TEST_F(FolderOnDiskTest, WhatCannotBeLookedAtIsAnError) {
  const std::string name(300, 'n');
  for (const auto& [inner, outer] : {std::pair(name, std::string("outer")), {"outer", name}}) {
    const auto lies = lies_in(place(inner), place(outer));
    ASSERT_FALSE(lies);
    EXPECT_EQ(lies.error().code, Code::kUnknown);
    EXPECT_THAT(lies.error().message, testing::StartsWith(concat("looking at ", folder_, "/", name, ": ")));
    EXPECT_THAT(lies.error().message, testing::HasSubstr("too long"));
  }
  const Status absent = check_absent(place("outer"), name);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kUnknown);
  EXPECT_THAT(absent.error().message, testing::StartsWith(concat("looking at ", folder_, "/outer/", name)));
}

TEST_F(FolderOnDiskTest, AFolderOfThisMachineLiesInNoOtherStore) {
  const Location memory{make_memory_store("a"), "outer", {"memory", "a", folder_.substr(1)}};
  EXPECT_FALSE(*lies_in(place("outer"), {memory.store, place("outer").key, memory.url}));
  EXPECT_FALSE(*lies_in({memory.store, place("outer").key, memory.url}, place("outer")));
  EXPECT_TRUE(check_absent({memory.store, place("outer").key, memory.url}, "to-other/a"));
}

}  // namespace
}  // namespace headrace

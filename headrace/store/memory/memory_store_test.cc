// Beyond the conformance suite: what only this store promises, and its messages.

#include "headrace/store/memory/memory_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace {
namespace {

using testing::ElementsAre;

class MemoryStoreTest : public testing::Test {
 protected:
  std::vector<std::string> keys(std::string_view prefix, const ListOptions& options) {
    std::vector<std::string> keys;
    const auto objects = list_all(*store_, prefix, options);
    for (const ObjectInfo& object : *objects) keys.push_back(object.key);
    return keys;
  }
  const std::unique_ptr<Store> store_ = make_memory_store("name");
};

TEST_F(MemoryStoreTest, NamesItsKeysAndPromises) {
  EXPECT_EQ(store_->describe(""), "memory://name");
  EXPECT_EQ(store_->describe("a/b"), "memory://name/a/b");
  const Capabilities can = store_->capabilities();
  EXPECT_TRUE(can.atomic_if_absent && can.atomic_if_version && can.strong_list && can.latest_only);
  EXPECT_FALSE(can.server_side_copy || can.keeps_ranges);
  EXPECT_TRUE(store_->remove_unfinished({.key = "a"}, {}));
}

TEST_F(MemoryStoreTest, SaysWhyItRefuses) {
  const ObjectInfo object = *write_text(*store_, "a/b", "hello");
  Bytes target(2);
  EXPECT_EQ(store_->read_into("a/b", target, {.offset_bytes = 5})->bytes_read, 0U);
  EXPECT_EQ(store_->read_into("a/b", target, {.offset_bytes = 4})->bytes_read, 1U);
  const auto past = store_->read_into("a/b", target, {.offset_bytes = 6});
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().code, Code::kOutOfRange);
  EXPECT_EQ(past.error().message, "offset 6 lies past the end of memory://name/a/b, which has 5 bytes");
  EXPECT_EQ(store_->stat("c", {}).error().message, "there is no object memory://name/c");
  EXPECT_EQ(write_text(*store_, "a/b", "", {.only_if_absent = true}).error().message,
            "memory://name/a/b already exists");
  const auto absent = write_text(*store_, "c", "x", {.if_version = object.version});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(absent.error().message, "memory://name/c is no longer the requested version");
  EXPECT_FALSE(store_->stat("c", {}));
}

TEST_F(MemoryStoreTest, NoKeyIsAFolderOfAnother) {
  ASSERT_TRUE(write_text(*store_, "a/b/c", "1"));
  ASSERT_TRUE(write_text(*store_, "d", "2"));
  for (const auto& [key, message] :
       {std::pair("a", "memory://name/a is a folder: memory://name/a/b/c lies in it"),
        {"a/b", "memory://name/a/b is a folder: memory://name/a/b/c lies in it"},
        {"d/e", "memory://name/d is an object, so nothing can lie below it"},
        {"d/e/f/g", "memory://name/d is an object, so nothing can lie below it"},
        {"a/b/c/d", "memory://name/a/b/c is an object, so nothing can lie below it"}}) {
    const auto written = write_text(*store_, key, "x");
    ASSERT_FALSE(written) << key;
    EXPECT_EQ(written.error().code, Code::kFailedPrecondition);
    EXPECT_EQ(written.error().message, message);
  }
  EXPECT_TRUE(write_text(*store_, "a/b/cd", "x")) << "which only begins with the same letters";
  EXPECT_TRUE(write_text(*store_, "a.b", "x"));
  EXPECT_TRUE(write_text(*store_, "z", "x"));
}

TEST_F(MemoryStoreTest, EachWriteIsAnotherVersion) {
  const ObjectInfo first = *write_text(*store_, "a", "same"), second = *write_text(*store_, "a", "same");
  EXPECT_NE(first.version, second.version);
  EXPECT_EQ(store_->stat("a", {})->version, second.version);
  const auto copied = store_->copy("a", "b", {.only_if_absent = true});
  ASSERT_TRUE(copied);
  EXPECT_EQ(store_->copy("a", "b", {.only_if_absent = true}).error().code, Code::kAlreadyExists);
  EXPECT_EQ(as_text(read_object(*store_, "b", 4)->data), "same");
}

TEST_F(MemoryStoreTest, AListingGoesOnAfterAnyKey) {
  for (const char* key : {"a", "b/1", "b/2", "b0", "c/1", "d"}) ASSERT_TRUE(write_text(*store_, key, "x"));
  EXPECT_THAT(keys("", {.collapse_folders = true}), ElementsAre("a", "b/", "b0", "c/", "d"));
  EXPECT_THAT(keys("", {.after = "b/", .collapse_folders = true}), ElementsAre("b0", "c/", "d"));
  EXPECT_THAT(keys("", {.after = "b/1", .collapse_folders = true}), ElementsAre("b0", "c/", "d"));
  EXPECT_THAT(keys("", {.after = "b", .collapse_folders = true}), ElementsAre("b/", "b0", "c/", "d"));
  EXPECT_THAT(keys("b/", {.collapse_folders = true}), ElementsAre("b/1", "b/2"));
  EXPECT_THAT(keys("b", {.after = "a"}), ElementsAre("b/1", "b/2", "b0"));
  EXPECT_THAT(keys("b", {.after = "b"}), ElementsAre("b/1", "b/2", "b0"));
  EXPECT_THAT(keys("b", {.after = "c"}), ElementsAre());
}

}  // namespace
}  // namespace headrace

#include "headrace/store/layers/prefixed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class PrefixedStoreTest : public testing::Test {
 protected:
  const std::shared_ptr<Store> whole = make_memory_store("whole");
  const std::unique_ptr<Store> part = make_prefixed({whole, "a/b", {}});
};

TEST_F(PrefixedStoreTest, ItsKeysAreThoseBelowTheFolder) {
  for (const char* key : {"a/b/x", "a/b/y/z", "a/bc", "a/other"}) ASSERT_TRUE(write_text(*whole, key, key));
  const auto listed = list_all(*part, "");
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ(listed->at(0).key, "x");
  EXPECT_EQ(listed->at(1).key, "y/z");
  EXPECT_EQ(to_string(read_object(*part, "y/z", 100)->data), "a/b/y/z");
  ASSERT_TRUE(write_text(*part, "new", "text"));
  EXPECT_TRUE(whole->stat("a/b/new", {}));
}

TEST_F(PrefixedStoreTest, NothingOutsideOfTheFolderCanBeNamed) {
  ASSERT_TRUE(write_text(*whole, "a/other", "x"));
  for (const char* key : {"../other", "/a/other", "", "x/../../other"}) {
    EXPECT_FALSE(part->stat(key, {})) << key;
    EXPECT_EQ(write_text(*part, key, "y").error().code, Code::kInvalidArgument) << key;
    (void)remove_object(*part, key).has_value();
  }
  EXPECT_EQ(to_string(read_object(*whole, "a/other", 10)->data), "x");
  EXPECT_EQ(list_all(*whole, "")->size(), 1U);
}

TEST_F(PrefixedStoreTest, ErrorsNameTheWholePlace) {
  EXPECT_THAT(part->stat("missing", {}).error().message, HasSubstr("memory://whole/a/b/missing"));
  EXPECT_EQ(part->describe("x"), "memory://whole/a/b/x");
  EXPECT_EQ(part->describe(""), "memory://whole/a/b");
}

TEST_F(PrefixedStoreTest, ItsUnfinishedWritesAreThoseBelowTheFolder) {
  class LeavingStore final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status list_unfinished(std::string_view prefix, const CallOptions&,
                           const std::function<bool(const UnfinishedWrite&)>& visit) override {
      for (const char* key : {"a/b/left", "a/c"}) {
        if (std::string_view(key).starts_with(prefix)) visit({.key = key, .id = "7"});
      }
      return {};
    }
    Status remove_unfinished(const UnfinishedWrite& write, const CallOptions&) override {
      removed = write.key + " " + write.id;
      return {};
    }
    std::string removed;
  };
  const auto leaving = std::make_shared<LeavingStore>(whole);
  const auto below = make_prefixed({leaving, "a/b", {}});
  const auto writes = list_all_unfinished(*below, "");
  ASSERT_EQ(writes->size(), 1U);
  EXPECT_EQ(writes->front().key, "left");
  ASSERT_TRUE(below->remove_unfinished(writes->front(), {}));
  EXPECT_EQ(leaving->removed, "a/b/left 7");
}

}  // namespace
}  // namespace headrace

#include "headrace/store/glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;

TEST(Glob, MatchesAsShellsDo) {
  for (const auto& [pattern, key] :
       std::vector<std::pair<const char*, const char*>>{{"a/train-*.tfrecord", "a/train-00001.tfrecord"},
                                                        {"*", "abc"},
                                                        {"*", ""},
                                                        {"a?c", "abc"},
                                                        {"train-[0-9][!5]", "train-34"},
                                                        {"[]x]", "]"},
                                                        {"**", "a/b/c"},
                                                        {"a/**/z", "a/b/c/z"},
                                                        {"a\\*", "a*"},
                                                        {"[a", "[a"},
                                                        {"*a*b*", "xxaxxbxx"}}) {
    EXPECT_TRUE(matches_pattern(pattern, key)) << pattern << " " << key;
  }
  for (const auto& [pattern, key] : std::vector<std::pair<const char*, const char*>>{{"*", "a/b"},
                                                                                     {"a?c", "a/c"},
                                                                                     {"train-*", "train-1/x"},
                                                                                     {"a", "ab"},
                                                                                     {"ab", "a"},
                                                                                     {"a\\*", "ab"},
                                                                                     {"[0-9]", "a"},
                                                                                     {"[!0-9]", "5"},
                                                                                     {"*a*b*", "xxbxxaxx"}}) {
    EXPECT_FALSE(matches_pattern(pattern, key)) << pattern << " " << key;
  }
}

TEST(Glob, ALongPatternOfStarsEndsSoon) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(matches_pattern(pattern, std::string(1000, 'a') + "b"));
}

TEST(Glob, FindsObjectsInOrder) {
  const auto store = make_memory_store("test");
  for (const char* key : {"d/train-2", "d/train-1", "d/test-1", "d/train-1.index", "other"})
    ASSERT_TRUE(write_text(*store, key, "x"));
  const auto found = find_objects(*store, "d/train-?", {});
  ASSERT_TRUE(found);
  std::vector<std::string> keys;
  for (const ObjectInfo& object : *found) keys.push_back(object.key);
  EXPECT_THAT(keys, ElementsAre("d/train-1", "d/train-2"));
}

}  // namespace
}  // namespace headrace

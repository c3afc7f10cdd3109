#include "headrace/store/glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/store/layers/forwarding.h"
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
                                                        {"a/**/z", "a/z"},
                                                        {"**/z", "z"},
                                                        {"**/z", "a/b/z"},
                                                        {"**/**/z", "z"},
                                                        {"a\\*", "a*"},
                                                        {"[a", "[a"},
                                                        {"*a*b*", "xxaxxbxx"}}) {
    EXPECT_TRUE(matches_pattern(pattern, key)) << pattern << " " << key;
  }
  for (const auto& [pattern, key] : std::vector<std::pair<const char*, const char*>>{{"*", "a/b"},
                                                                                     {"a?c", "a/c"},
                                                                                     {"train-*", "train-1/x"},
                                                                                     {"a", "ab"},
                                                                                     {"a/**/z", "a/bz"},
                                                                                     {"**/z", "az"},
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

// Which prefixes it is asked to list.
class ListingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    prefixes.emplace_back(prefix);
    return inner().list(prefix, options, visit);
  }
  std::vector<std::string> prefixes;
};

TEST(Glob, ListsNoFolderThatCannotMatch) {
  ListingStore store(make_memory_store("test"));
  for (const char* key :
       {"d/a-1/x/f", "d/a-1/y/f", "d/a-2/x/g", "d/b/x/f", "d/a-3", "e/a-1/x/f", "d/a-1/x/d/f"})
    ASSERT_TRUE(write_text(store, key, "x"));
  const auto found_by = [&](std::string_view pattern, bool with_folders) {
    store.prefixes.clear();
    std::vector<std::string> keys;
    EXPECT_TRUE(visit_matches(store, pattern, {.with_folders = with_folders}, [&](const ObjectInfo& object) {
      keys.push_back(object.key);
      return true;
    }));
    return keys;
  };
  EXPECT_THAT(found_by("d/a-*/x/[fg]", false), ElementsAre("d/a-1/x/f", "d/a-2/x/g"));
  EXPECT_THAT(store.prefixes, ElementsAre("d/a-", "d/a-1/x/", "d/a-2/x/"));
  EXPECT_THAT(found_by("d/a-*", false), ElementsAre("d/a-3"));
  EXPECT_THAT(found_by("d/a-*", true), ElementsAre("d/a-1/", "d/a-2/", "d/a-3"));
  EXPECT_THAT(found_by("d/a-1/**/f", true), ElementsAre("d/a-1/x/d/f", "d/a-1/x/f", "d/a-1/y/f"));
  EXPECT_THAT(found_by("d/[!b]-1/y/**", false), ElementsAre("d/a-1/y/f"));
  EXPECT_THAT(store.prefixes, ElementsAre("d/", "d/a-1/y/"));
  std::size_t visited = 0;
  EXPECT_TRUE(visit_matches(store, "*/*/*/f", {}, [&](const ObjectInfo&) { return ++visited < 2; }));
  EXPECT_EQ(visited, 2U);
}

TEST(Glob, AWildcardIsAStarOrQuestionMarkWithoutABackslash) {
  for (const char* text : {"*", "a/b?", "[ab]*", "a\\\\*", "\\**"}) EXPECT_TRUE(has_wildcards(text)) << text;
  for (const char* text : {"", "a", "exp[1]", "a\\*", "a\\?b", "a\\", "\\[1\\]"})
    EXPECT_FALSE(has_wildcards(text)) << text;
}

TEST(Glob, ALiteralNameLosesOnlyTheBackslashesOfSpecialCharacters) {
  EXPECT_EQ(literal_name("exp[1]"), "exp[1]");
  EXPECT_EQ(literal_name("exp\\[1\\]"), "exp[1]");
  EXPECT_EQ(literal_name("a\\*b\\?"), "a*b?");
  EXPECT_EQ(literal_name("a\\b\\\\c"), "a\\b\\\\c");
  EXPECT_EQ(literal_name("a\\b\\\\[1]\\"), "a\\b\\[1]\\");
}

TEST(Glob, TheFolderOfAPatternIsWhatComesBeforeItsFirstSpecialSegment) {
  EXPECT_EQ(literal_folder("a/b/c-*/d"), "a/b");
  EXPECT_EQ(literal_folder("*"), "");
  EXPECT_EQ(literal_folder("a/?"), "a");
}

}  // namespace
}  // namespace headrace

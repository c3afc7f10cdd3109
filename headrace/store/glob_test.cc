#include "headrace/store/glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/noting_store_test.h"

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

TEST(Glob, ReadsSetsEscapesAndStarsToTheLetter) {
  for (const auto& [pattern, key, matches] :
       std::vector<std::tuple<const char*, const char*, bool>>{{"[a-c]", "a", true},
                                                               {"[a-c]", "b", true},
                                                               {"[a-c]", "c", true},
                                                               {"[a-c]", "d", false},
                                                               {"[a-c]", "`", false},
                                                               {"[a-c]", "-", false},
                                                               {"[a-cx]", "x", true},
                                                               {"[a-cxy]", "x", true},
                                                               {"[a-cx-z]", "b", true},
                                                               {"[a-cx-z]", "y", true},
                                                               {"[ba-c-]", "-", true},
                                                               {"[xa-c]", "x", true},
                                                               {"[xa-c]", "b", true},
                                                               {"[a-]", "-", true},
                                                               {"[a-]", "a", true},
                                                               {"[a-]", "b", false},
                                                               {"[-a]", "-", true},
                                                               {"[abc]", "a", true},
                                                               {"[^a]", "b", true},
                                                               {"[^a]", "a", false},
                                                               {"[^a]", "^", true},
                                                               {"[!a]", "!", true},
                                                               {"[a^]", "^", true},
                                                               {"[!a-c]", "/", false},
                                                               {"[/]", "/", false},
                                                               {"[]", "[]", true},
                                                               {"[a]b]", "ab]", true},
                                                               {"[ab]c", "bc", true},
                                                               {"[ab]c", "]c", false},
                                                               {"a]b]", "a]b]", true},
                                                               {"a]b]", "b", false},
                                                               {"a\\", "a\\", true},
                                                               {"\\a", "a", true},
                                                               {"\\\\", "\\", true},
                                                               {"a**/z", "az", false},
                                                               {"a**/z", "ab/c/z", true},
                                                               {"a/**/**/z", "a/z", true},
                                                               {"a/**/**/z", "a/b/c/d/z", true},
                                                               {"**/", "a/", true},
                                                               {"***", "a/b", true},
                                                               {"a*", "a", true},
                                                               {"a?", "a", false},
                                                               {"**", "", true},
                                                               {"", "", true},
                                                               {"", "a", false}}) {
    EXPECT_EQ(matches_pattern(pattern, key), matches) << pattern << " " << key;
  }
}

TEST(Glob, ThePrefixOfAPatternEndsBeforeItsFirstSpecialCharacter) {
  for (const auto& [pattern, prefix] :
       {std::pair("a/b*", "a/b"), {"a?", "a"}, {"a[b]", "a"}, {"a\\*b", "a"}, {"ab", "ab"}, {"*", ""}})
    EXPECT_EQ(literal_prefix(pattern), prefix);
  EXPECT_EQ(literal_folder("a/b\\*/c"), "a");
  EXPECT_EQ(literal_folder("a/b/c"), "a/b");
  EXPECT_TRUE(is_pattern("a*") && is_pattern("a?") && is_pattern("[") && !is_pattern("a]\\b"));
}

TEST(Glob, ListsWithTheCallersOptions) {
  const auto store = std::make_shared<NotingStore>(make_memory_store("test"));
  for (const char* key : {"d/a*b/x/f", "d/a*b/g", "d/acb/x/f"})
    ASSERT_TRUE(write_text(*store, key, "x", {.call = noted_call()}));
  store->forget();
  const auto found = find_objects(*store, "d/a\\*b/*/f", noted_call());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().key, "d/a*b/x/f");
  EXPECT_THAT(store->calls(), ElementsAre("list d/a", "list d/a*b/", "list d/a*b/x/f"));
  store->forget();
  EXPECT_EQ(find_objects(*store, "d/acb/x/f", noted_call())->size(), 1U);
  EXPECT_EQ(find_objects(*store, "d/**b/g", noted_call())->size(), 1U);
  EXPECT_THAT(store->calls(), ElementsAre("list d/acb/x/f", "list d/"));
  EXPECT_EQ(find_objects(*store, "d/a*", noted_call())->size(), 0U) << "folders are not objects";
}

TEST(Glob, AFolderThatCannotBeListedEndsTheSearch) {
  class PartlyHidden final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status list(std::string_view prefix, const ListOptions& options,
                const std::function<bool(const ObjectInfo&)>& visit) override {
      ++lists;
      if (prefix == "d/a/") return Error{Code::kPermissionDenied, "hidden"};
      return inner().list(prefix, options, visit);
    }
    int lists = 0;
  };
  PartlyHidden store(make_memory_store("test"));
  for (const char* key : {"d/a/f", "d/b/f"}) ASSERT_TRUE(write_text(store, key, "x"));
  const auto found = find_objects(store, "d/*/*", {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "hidden");
  EXPECT_EQ(store.lists, 2);
}

}  // namespace
}  // namespace headrace

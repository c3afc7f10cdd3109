#include "headrace/cli/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "headrace/base/crc32c.h"
#include "headrace/coordinate/chain.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/numbered.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class PublishedVersionsTest : public testing::Test {
 protected:
  Ownership take(OwnershipAction action) const {
    const auto seen = read_chain(folder);
    EXPECT_TRUE(seen);
    auto owner = Ownership::take(folder, *seen, {.action = action, .actor = {.command = "prepare"}});
    EXPECT_TRUE(owner);
    return *owner;
  }
  void publish(Ownership owner, const std::string& part) const {
    ASSERT_TRUE(write_text(*folder.store, folder.at(part).key, part));
    Manifest manifest{.kind = "dataset", .created_by = "r", .plan = part};
    manifest.parts = {{part, part.size(), crc32c(as_bytes(part)), "shard"}};
    ASSERT_TRUE(owner.publish(manifest));
  }
  std::string key(std::uint64_t number) const { return numbered_key(folder.at(kManifestPrefix).key, number); }
  void put(std::uint64_t number, std::string_view text) const {
    ASSERT_TRUE(write_text(*folder.store, key(number), text));
  }
  void cut(std::uint64_t number) const {
    const auto read = read_object(*folder.store, key(number), 1 << 20);
    ASSERT_TRUE(read);
    put(number, as_text(read->data).substr(0, read->data.size() / 2));
  }
  // All problems there, as one text, with and without former versions.
  std::string problems(std::size_t count) const {
    std::string text;
    for (const bool only_latest : {false, true}) {
      const auto found = read_published_versions(folder, only_latest, {});
      EXPECT_TRUE(found) << found.error().message;
      if (!found) return "nothing";
      EXPECT_EQ(found->bad.size(), count) << "only the latest: " << only_latest;
      for (const BadPart& bad : found->bad) text += bad.problem + "\n";
    }
    return text;
  }

  Location folder{make_memory_store("test"), "data", {"memory", "test", "data"}};
};

TEST_F(PublishedVersionsTest, AWholeChainHasNothingBad) {
  publish(take(OwnershipAction::kBegin), "one");
  publish(take(OwnershipAction::kContinue), "two");
  EXPECT_EQ(problems(0), "");
  take(OwnershipAction::kContinue);
  EXPECT_EQ(problems(0), "");
  take(OwnershipAction::kOverwrite);
  EXPECT_EQ(problems(0), "");
  const auto found = read_published_versions(folder, false, {});
  ASSERT_EQ(found->versions.size(), 1U) << "the one that readers take until the overwriter publishes";
  EXPECT_EQ(found->versions[0].published.number, 4U);
}

TEST_F(PublishedVersionsTest, ADamagedEntryOfWhatIsPublishedIsBad) {
  publish(take(OwnershipAction::kBegin), "one");
  cut(1);
  EXPECT_THAT(problems(1), HasSubstr("manifest-00000001"));
  ASSERT_TRUE(remove_object(*folder.store, key(1)));
  EXPECT_THAT(problems(1), HasSubstr("manifest-00000001 is gone"));
}

TEST_F(PublishedVersionsTest, ADamagedEntryThatBeganTheGenerationIsBad) {
  publish(take(OwnershipAction::kBegin), "one");
  publish(take(OwnershipAction::kContinue), "two");
  cut(1);
  const auto found = read_published_versions(folder, false, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->versions.size(), 2U);
  ASSERT_EQ(found->bad.size(), 1U);
  EXPECT_THAT(found->bad[0].problem, HasSubstr("manifest-00000001"));
}

TEST_F(PublishedVersionsTest, ADamagedEntryIsBadWhereNothingIsPublished) {
  take(OwnershipAction::kBegin);
  cut(1);
  EXPECT_THAT(problems(1), HasSubstr("manifest-00000001"));
}

TEST_F(PublishedVersionsTest, AnEntryThatNamesNoManifestIsBad) {
  publish(take(OwnershipAction::kBegin), "one");
  for (const std::uint64_t named : {1, 3, 4}) {
    put(3, serialize_entry({.action = OwnershipAction::kContinue, .generation = 1, .published = named}));
    EXPECT_THAT(problems(1), HasSubstr("manifest-0000000")) << named;
    ASSERT_TRUE(remove_object(*folder.store, key(3)));
  }
  take(OwnershipAction::kContinue);
  ASSERT_TRUE(remove_object(*folder.store, key(2)));
  EXPECT_THAT(problems(1), HasSubstr("manifest-00000002 is gone"));
}

TEST_F(PublishedVersionsTest, ADamagedManifestIsBadOnce) {
  publish(take(OwnershipAction::kBegin), "one");
  cut(2);
  EXPECT_THAT(problems(1), HasSubstr("manifest-00000002"));
}

TEST_F(PublishedVersionsTest, WhatWasReplacedDoesNotCount) {
  publish(take(OwnershipAction::kBegin), "one");
  publish(take(OwnershipAction::kOverwrite), "two");
  cut(1);
  cut(2);
  EXPECT_EQ(problems(0), "");
}

}  // namespace
}  // namespace headrace

#include "headrace/coordinate/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/digest.h"
#include "headrace/coordinate/chain.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class Versions : public testing::Test {
 protected:
  Versions() : folder(*stores.open("memory://test/out")) {}

  /// Appends an entry, and after it a manifest.
  void publish(OwnershipAction action, const std::string& plan) {
    const auto seen = read_chain(folder);
    ASSERT_TRUE(seen);
    auto owner = Ownership::take(folder, *seen, {.action = action});
    ASSERT_TRUE(owner);
    ASSERT_TRUE(owner->publish({.kind = "dataset", .plan = plan}));
  }

  StoreRegistry stores{Environment{}};
  Location folder;
};

TEST_F(Versions, AFormerOneIsReadByItsNumberAndFoundByItsDigest) {
  publish(OwnershipAction::kBegin, "p1");
  publish(OwnershipAction::kContinue, "p2");
  const auto former = read_version(folder, 2);
  ASSERT_TRUE(former) << former.error().message;
  EXPECT_EQ(parse_manifest(former->data)->plan, "p1");
  EXPECT_EQ(former->number, 2U);
  EXPECT_EQ(*version_of_digest(folder, sha256_hex(former->data)), 2U);
  EXPECT_EQ(*version_of_digest(folder, sha256_hex(as_bytes("other"))), std::nullopt);
}

TEST_F(Versions, WhatIsNoneSaysWhichThereAre) {
  const auto empty = read_version(folder, 1);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, Code::kNotFound);
  EXPECT_THAT(empty.error().message, HasSubstr("has no version 1; it has no versions"));

  publish(OwnershipAction::kBegin, "p1");
  publish(OwnershipAction::kContinue, "p2");
  const auto missing = read_version(folder, 7);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("has no version 7; it has 2, 4"));
  const auto entry = read_version(folder, 3);
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().code, Code::kInvalidArgument);
  EXPECT_THAT(entry.error().message,
              HasSubstr("an entry of ownership, which publishes nothing; it has 2, 4"));
}

TEST_F(Versions, ADigestIsFoundAmongAllThatAreThere) {
  for (const char* plan : {"p1", "p2", "p3"}) publish(OwnershipAction::kContinue, plan);
  for (const std::uint64_t number : {2, 4, 6})
    EXPECT_EQ(*version_of_digest(folder, sha256_hex(read_version(folder, number)->data)), number);
  const auto entry = read_number(folder, 3);
  EXPECT_EQ(*version_of_digest(folder, sha256_hex((*entry)->data)), std::nullopt) << "it is not a manifest";
}

TEST_F(Versions, ADamagedManifestIsAVersionToo) {
  publish(OwnershipAction::kBegin, "p1");
  ASSERT_TRUE(write_text(*folder.store, folder.at("_headrace/manifest-00000003").key, "{"));
  EXPECT_EQ(to_string(read_version(folder, 3)->data), "{");
  EXPECT_THAT(read_version(folder, 4).error().message, HasSubstr("it has 2, 3"));
}

}  // namespace
}  // namespace headrace

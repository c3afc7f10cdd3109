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

}  // namespace
}  // namespace headrace

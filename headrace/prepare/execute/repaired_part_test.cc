#include "headrace/prepare/execute/repaired_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/crc32c.h"
#include "headrace/coordinate/chain.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr std::string_view kBytes = "the bytes of the shard";

class RepairedPart : public testing::Test {
 protected:
  RepairedPart() : folder(*stores.open("memory://test/data")), made(*stores.open("memory://test/made")) {
    put(made, kBytes);
    part = {
        .key = "train-1", .size_bytes = kBytes.size(), .crc32c = crc32c(as_bytes(kBytes)), .role = "shard"};
    publish(OwnershipAction::kBegin, {part});
    version = **read_published(folder);
  }

  void put(const Location& object, std::string_view text) {
    ASSERT_TRUE(write_text(*object.store, object.key, std::string(text)));
  }
  Ownership take(OwnershipAction action) {
    return *Ownership::take(folder, *read_chain(folder), {.action = action});
  }
  void publish(OwnershipAction action, std::vector<ManifestPart> parts) {
    ASSERT_TRUE(take(action).publish({.kind = "dataset", .plan = "p", .parts = std::move(parts)}));
  }
  Status put_it() { return put_part(made, part, version, {}); }
  /// The object at the part's place; empty: there is none.
  std::string content() const {
    const Location place = folder.at(part.key);
    const auto read = read_object(*place.store, place.key, 1 << 20);
    return read ? std::string(as_text(read->data)) : "";
  }

  StoreRegistry stores{Environment{}};
  Location folder;
  Location made;
  ManifestPart part;
  PublishedFolder version;
};

TEST_F(RepairedPart, IsCreatedWhereItIsMissing) {
  const Status done = put_it();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(content(), kBytes);
}

TEST_F(RepairedPart, ReplacesWhatIsDamaged) {
  put(folder.at(part.key), "the bytes of the shXrd");
  ASSERT_TRUE(put_it());
  EXPECT_EQ(content(), kBytes);
  put(folder.at(part.key), "short");
  ASSERT_TRUE(put_it());
  EXPECT_EQ(content(), kBytes);
}

TEST_F(RepairedPart, IsLeftInItsVersionWhereItIsWhole) {
  put(folder.at(part.key), kBytes);
  const Version before = folder.store->stat(folder.at(part.key).key, {})->version;
  ASSERT_TRUE(put_it());
  EXPECT_EQ(folder.store->stat(folder.at(part.key).key, {})->version, before);
}

TEST_F(RepairedPart, OfOtherBytesIsNeverWritten) {
  put(folder.at(part.key), "damaged");
  put(made, "the bytes of the sharD");
  const Status done = put_it();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(done.error().message, HasSubstr("its sources have changed since"));
  EXPECT_EQ(content(), "damaged");
}

TEST_F(RepairedPart, ThatWasNotMadeIsAnError) {
  ASSERT_TRUE(remove_object(*made.store, made.key));
  EXPECT_EQ(put_it().error().code, Code::kFailedPrecondition);
  EXPECT_EQ(content(), "");
}

TEST_F(RepairedPart, OfAFormerVersionComesBack) {
  publish(OwnershipAction::kContinue, {part});
  ASSERT_TRUE(put_it());
  EXPECT_EQ(content(), kBytes);
}

TEST_F(RepairedPart, ComesBackUntilWhatOverwritesItIsPublished) {
  Ownership successor = take(OwnershipAction::kOverwrite);
  ASSERT_TRUE(put_it());
  EXPECT_EQ(content(), kBytes);
  ASSERT_TRUE(remove_object(*folder.store, folder.at(part.key).key));
  ASSERT_TRUE(successor.publish({.kind = "dataset", .plan = "p"}));
  const Status late = put_it();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kAborted);
  EXPECT_EQ(content(), "");
}

TEST_F(RepairedPart, OfWhatWasRemovedDoesNotComeBack) {
  take(OwnershipAction::kRemove);
  EXPECT_EQ(put_it().error().code, Code::kAborted);
  EXPECT_EQ(content(), "");
  take(OwnershipAction::kBegin);
  EXPECT_EQ(put_it().error().code, Code::kAborted);
  EXPECT_EQ(content(), "");
}

}  // namespace
}  // namespace headrace

#include "headrace/prepare/write/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/prepare/plan/plan.h"
#include "headrace/prepare/write/plan_claim.h"
#include "headrace/store/numbered.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kShard = "train-aaaaaaaa-00000-of-00001.tfrecord";
constexpr const char* kOther = "_headrace/report/bbbbbbbb-00000.jsonl.gz";
constexpr const char* kWork = "_headrace/work/cccccccc/slice-00000";

class Leftovers : public testing::Test {
 protected:
  Leftovers() {
    for (const char* key : {kShard, kOther, kWork, "notes.txt", "train-aaaaaaaa.tfrecord"}) put(key);
  }

  void put(const std::string& key, std::string_view text = "x") {
    ASSERT_TRUE(write_text(*output.store, output.at(key).key, text));
  }
  Ownership take(OwnershipAction action, std::string stage = "prepare 5") {
    return *Ownership::take(output, *read_chain(output),
                            {.action = action, .configuration = {{"stage", std::move(stage)}}});
  }
  void publish(Ownership& owner, const std::vector<std::string>& parts) {
    Manifest manifest{.kind = "dataset"};
    for (const std::string& key : parts) manifest.parts.push_back({.key = key, .role = "shard"});
    ASSERT_TRUE(owner.publish(manifest));
  }
  std::vector<std::string> found() {
    std::vector<std::string> keys;
    const auto leftovers = find_leftovers(output);
    EXPECT_TRUE(leftovers) << leftovers.error().message;
    for (const ObjectInfo& object : *leftovers) keys.push_back(object.key.substr(4));
    return keys;
  }

  StoreRegistry stores{Environment{}};
  Location output = *stores.open("memory://leftovers/out");
};

TEST_F(Leftovers, WhereNothingWasBegunOnlyWorkCounts) { EXPECT_THAT(found(), ElementsAre(kWork)); }

TEST_F(Leftovers, PublishedPartsAndForeignFilesAreNone) {
  Ownership owner = take(OwnershipAction::kBegin);
  publish(owner, {kShard});
  EXPECT_THAT(found(), ElementsAre(kOther, kWork));
}

TEST_F(Leftovers, PartsOfEveryVersionStay) {
  Ownership owner = take(OwnershipAction::kBegin);
  publish(owner, {kShard});
  Ownership next = take(OwnershipAction::kContinue);
  publish(next, {kOther});
  EXPECT_THAT(found(), ElementsAre(kWork));
}

TEST_F(Leftovers, ThePlanInForceKeepsItsObjects) {
  const Ownership owner = take(OwnershipAction::kBegin);
  const OwnershipEntry entry = *read_entry(output, owner.entry());
  const std::string tag = name_tag(configuration_digest(entry.configuration), entry.generation);
  const std::string shard = "train-" + tag + "-00000-of-00001.tfrecord.gz";
  put(shard);
  put("_headrace/work/" + tag + "/slice-00000");
  EXPECT_THAT(found(), ElementsAre(kOther, kWork, kShard));
  take(OwnershipAction::kOverwrite);  // the same plan, in a generation of its own
  EXPECT_THAT(found(), testing::IsSupersetOf({shard, "_headrace/work/" + tag + "/slice-00000"}));
}

TEST_F(Leftovers, OutputsOfOtherStagesAreLeftAlone) {
  take(OwnershipAction::kBegin, "train 3");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Leftovers, OutputsOfAnOlderHeadraceAreLeftAlone) {
  put("_headrace/plan", R"({"stage":"prepare 4"})");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Leftovers, WhereAnythingIsDamagedNothingCounts) {
  Ownership owner = take(OwnershipAction::kBegin);
  publish(owner, {});
  Ownership next = take(OwnershipAction::kContinue);
  publish(next, {});
  for (const std::uint64_t number : {2, 4}) {
    const std::string key = numbered_key(output.at(kManifestPrefix).key, number);
    const Bytes whole = read_object(*output.store, key, 10'000)->data;
    ASSERT_TRUE(write_text(*output.store, key, "{"));
    EXPECT_THAT(found(), IsEmpty()) << number;
    ASSERT_TRUE(output.store->write(key, whole, {}));
  }
  EXPECT_THAT(found(), ElementsAre(kOther, kWork, kShard));
}

TEST_F(Leftovers, AfterARemovalOnlyWorkCounts) {
  Ownership owner = take(OwnershipAction::kBegin);
  publish(owner, {kShard});
  take(OwnershipAction::kRemove);
  EXPECT_THAT(found(), ElementsAre(kWork));
}

}  // namespace
}  // namespace headrace

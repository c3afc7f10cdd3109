#include "headrace/track/stage_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "headrace/record/manifest.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(MatchesName, TakesWholeNamesWithDigitsOfEachKind) {
  constexpr std::string_view kShard = "train-%%%%-##-of-##.gz";
  EXPECT_TRUE(matches_name(kShard, "train-0a9f-00-of-17.gz"));
  EXPECT_TRUE(matches_name(kShard, "train-0a9f-100-of-117.gz"));
  for (const char* other : {"train-0a9f-0-of-17.gz", "train-0A9f-00-of-17.gz", "train-0a9f-00-of-17.gz.old",
                            "train-0a9f-00-of-17", "test-0a9f-00-of-17.gz", "train-0a9f-xx-of-17.gz", ""})
    EXPECT_FALSE(matches_name(kShard, other)) << other;
  EXPECT_TRUE(matches_name("work/", "work/a/b"));
  EXPECT_FALSE(matches_name("work/", "workers"));
}

// An output with a published folder in `made`, receipts, leftovers, and what is not of the stage.
class ClaimOutput : public testing::Test {
 protected:
  ClaimOutput() : output(*stores.open("memory://test/out")) {
    for (const char* key :
         {"made/a", "made/other/b", "left-0001", "left-mine", "made/mine", "_headrace/runs/1/start"})
      put(key, "x");
    put("_headrace/plan", R"({"stage":"make 1"})");
    publish("thing");
  }

  void put(const std::string& key, std::string_view text) {
    ASSERT_TRUE(write_text(*output.store, output.at(key).key, text));
  }
  void publish(const std::string& kind) {
    Manifest manifest{.kind = kind, .created_by = "run", .plan = "p"};
    for (const char* key : {"a", "other/b", "_headrace/manifest-00000001"})
      manifest.parts.push_back({.key = key, .role = "part"});
    put("made/_headrace/manifest-00000001", serialize_manifest(manifest));
  }
  std::set<std::string> keys() {
    std::set<std::string> out;
    const auto objects = list_all(*output.store, "out/");
    for (const ObjectInfo& object : *objects) out.insert(object.key.substr(4));
    return out;
  }

  StoreRegistry stores{Environment{}};
  Location output;
  const Configuration begun = {{"stage", "make 1"}};
  const StageOutput stage{
      .stage = "make", .claim = "_headrace/plan", .folders = {{"made", "thing"}}, .names = {"left-####"}};
};

TEST_F(ClaimOutput, OverwritingLeavesWhatIsNotOfTheStage) {
  const Status removed = claim_output(output, stage, begun, true);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_THAT(keys(), ElementsAre("_headrace/plan", "_headrace/runs/1/start", "left-mine", "made/mine"));
}

TEST_F(ClaimOutput, RefusesWhereNothingOfTheStageWasBegun) {
  ASSERT_TRUE(remove_object(*output.store, output.at("_headrace/plan").key));
  const auto before = keys();
  const Status removed = claim_output(output, stage, begun, true);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(removed.error().message, HasSubstr("nothing that headrace make began"));
  EXPECT_EQ(keys(), before);
}

TEST_F(ClaimOutput, RefusesWhatAnotherStageBeganAlsoUnderAnotherName) {
  put("_headrace/plan", R"({"stage":"remake 1"})");
  put("other/_headrace/configuration", R"({"stage":"remake 1"})");
  for (const Location& place : {output, output.at("other")}) {
    for (const bool overwrite : {false, true}) {
      const auto before = keys();
      const Status claimed = claim_output(place, stage, begun, overwrite);
      ASSERT_FALSE(claimed);
      EXPECT_EQ(claimed.error().code, Code::kFailedPrecondition);
      EXPECT_THAT(claimed.error().message, HasSubstr("what headrace remake began"));
      EXPECT_EQ(keys(), before);
    }
  }
}

TEST_F(ClaimOutput, RefusesAFolderThatIsPublishedAsAWhole) {
  for (const bool overwrite : {false, true}) {
    const auto before = keys();
    const Status claimed = claim_output(output.at("made"), stage, begun, overwrite);
    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(claimed.error().message, HasSubstr("holds a published thing"));
    EXPECT_EQ(keys(), before);
  }
}

TEST_F(ClaimOutput, ContinuesTheSameConfigurationAndRefusesAnother) {
  EXPECT_TRUE(claim_output(output, stage, begun, false));
  const Status claimed = claim_output(output, stage, {{"stage", "make 1"}, {"seed", "1"}}, false);
  ASSERT_FALSE(claimed);
  EXPECT_THAT(claimed.error().message, HasSubstr("seed was (absent) and is now 1"));
}

TEST_F(ClaimOutput, RefusesWhatIsPublishedAsAnotherKind) {
  publish("else");
  const auto before = keys();
  const Status removed = claim_output(output, stage, begun, true);
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().message, HasSubstr("is a else folder, not a thing folder"));
  EXPECT_EQ(keys(), before);
}

TEST_F(ClaimOutput, OverwritesEitherKindOfAFolderThatMayHoldTwo) {
  for (const char* kind : {"thing", "else"}) {
    put("made/a", "x");
    publish(kind);
    StageOutput of_two = stage;
    of_two.folders = {{"made", "thing", "else"}};
    ASSERT_TRUE(claim_output(output, of_two, begun, true));
    EXPECT_THAT(keys(), ElementsAre("_headrace/plan", "_headrace/runs/1/start", "left-mine", "made/mine"));
  }
}

TEST_F(ClaimOutput, RemovesNothingWhereOnlyOthersFilesLie) {
  const Location other = *stores.open("memory://test/other");
  ASSERT_TRUE(write_text(*other.store, other.at("left-mine").key, "x"));
  ASSERT_TRUE(write_text(*other.store, other.at("_headrace/runs/1/start").key, "x"));
  EXPECT_TRUE(claim_output(other, stage, begun, true));
  EXPECT_EQ(list_all(*other.store, "other/")->size(), 3U);
}

TEST_F(ClaimOutput, OverwritesDamagedManifestsAndClaims) {
  put("made/_headrace/manifest-00000002", "{");
  put("_headrace/plan", "{");
  const Status removed = claim_output(output, stage, begun, true);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_THAT(keys(), ElementsAre("_headrace/plan", "_headrace/runs/1/start", "left-mine", "made/mine"));
}

}  // namespace
}  // namespace headrace

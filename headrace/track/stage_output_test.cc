#include "headrace/track/stage_output.h"

#include <set>

#include "headrace/record/manifest.h"

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
class RemoveOutput : public testing::Test {
 protected:
  RemoveOutput() : output(*stores.open("memory://test/out")) {
    for (const char* key : {"made/a", "made/other/b", "_headrace/work/1/receipt", "left-0001", "left-mine",
                            "made/mine", "_headrace/runs/1/start"})
      put(key, "x");
    put("_headrace/claim", R"({"stage": "make 1"})");
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
  const StageOutput stage{.stage = "make",
                          .claim = "_headrace/claim",
                          .folders = {{"made", "thing"}},
                          .work = {"_headrace/work/"},
                          .names = {"left-####"}};
};

TEST_F(RemoveOutput, LeavesWhatIsNotOfTheStage) {
  const Status removed = remove_output(output, stage);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_THAT(keys(), ElementsAre("_headrace/runs/1/start", "left-mine", "made/mine"));
}

TEST_F(RemoveOutput, RefusesWhereNothingOfTheStageWasBegun) {
  ASSERT_TRUE(remove_object(*output.store, output.at("_headrace/claim").key));
  const auto before = keys();
  const Status removed = remove_output(output, stage);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(removed.error().message, HasSubstr("nothing that headrace make began"));
  EXPECT_EQ(keys(), before);
}

TEST_F(RemoveOutput, RefusesWhatAnotherStageBegan) {
  put("_headrace/claim", R"({"stage": "remake 1"})");
  const auto before = keys();
  const Status removed = remove_output(output, stage);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(keys(), before);
}

TEST_F(RemoveOutput, RefusesWhatIsPublishedAsAnotherKind) {
  publish("else");
  const auto before = keys();
  const Status removed = remove_output(output, stage);
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().message, HasSubstr("is a else folder, not a thing folder"));
  EXPECT_EQ(keys(), before);
}

TEST_F(RemoveOutput, DoesNothingWhereOnlyOthersFilesLie) {
  const Location other = *stores.open("memory://test/other");
  ASSERT_TRUE(write_text(*other.store, other.at("left-mine").key, "x"));
  ASSERT_TRUE(write_text(*other.store, other.at("_headrace/runs/1/start").key, "x"));
  EXPECT_TRUE(remove_output(other, stage));
  EXPECT_EQ(list_all(*other.store, "other/")->size(), 2U);
}

TEST_F(RemoveOutput, RemovesDamagedManifestsAndClaims) {
  put("made/_headrace/manifest-00000002", "{");
  put("_headrace/claim", "{");
  const Status removed = remove_output(output, stage);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_THAT(keys(), ElementsAre("_headrace/runs/1/start", "left-mine", "made/mine"));
}

}  // namespace
}  // namespace headrace

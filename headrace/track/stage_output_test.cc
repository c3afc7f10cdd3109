#include "headrace/track/stage_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "headrace/base/text.h"
#include "headrace/record/manifest.h"
#include "headrace/store/layers/forwarding.h"
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

TEST(MatchesName, TakesEachKindOfDigitAndNoOtherCharacter) {
  for (const char* digit : {"0", "5", "9"}) {
    EXPECT_TRUE(matches_name("#", digit)) << digit;
    EXPECT_TRUE(matches_name("%", digit)) << digit;
  }
  for (const char* letter : {"a", "c", "f"}) {
    EXPECT_FALSE(matches_name("#", letter)) << letter;
    EXPECT_TRUE(matches_name("%", letter)) << letter;
  }
  for (const char* other : {"/", ":", "`", "g", "A", "F", "#", ""}) {
    EXPECT_FALSE(matches_name("#", other)) << other;
    EXPECT_FALSE(matches_name("%", other)) << other;
  }
}

TEST(MatchesName, OnlyTheLastDecimalDigitOfANumberIsRepeated) {
  EXPECT_TRUE(matches_name("##", "1234"));
  EXPECT_FALSE(matches_name("##", "1"));
  EXPECT_FALSE(matches_name("%%", "123"));
  EXPECT_TRUE(matches_name("#a", "12a"));
  EXPECT_FALSE(matches_name("#a", "12"));
  EXPECT_FALSE(matches_name("a", "aa"));
}

TEST(MatchesName, AnyCharactersAreOneAtLeastAndNoneIsASlash) {
  EXPECT_TRUE(matches_name("*-#", "a-1"));
  EXPECT_TRUE(matches_name("*-#", "a-b-1"));
  EXPECT_TRUE(matches_name("in/*.gz", "in/b.gz"));
  EXPECT_TRUE(matches_name("a*", "ab"));
  EXPECT_TRUE(matches_name("*/b", "a/b"));
  for (const char* other : {"-1", "a/b-1", "a-", "a"}) EXPECT_FALSE(matches_name("*-#", other)) << other;
  EXPECT_FALSE(matches_name("in/*.gz", "in/.gz"));
  EXPECT_FALSE(matches_name("in/*.gz", "in/b/c.gz"));
  EXPECT_FALSE(matches_name("a*", "a"));
  EXPECT_FALSE(matches_name("work/", "work/")) << "it is not below";
}

TEST(OwnerSuffix, IsEmptyForTheFirstOwnerOfANewOutputAlone) {
  EXPECT_EQ(owner_suffix(1, OwnershipAction::kBegin), "");
  EXPECT_EQ(owner_suffix(2, OwnershipAction::kBegin), "-o2");
  EXPECT_EQ(owner_suffix(1, OwnershipAction::kTakeOver), "-o1");
  EXPECT_EQ(owner_suffix(1, OwnershipAction::kOverwrite), "-o1");
}

// Refuses to read, list or tell about keys that hold a text.
class RefusingStore final : public ForwardingStore {
 public:
  RefusingStore(std::shared_ptr<Store> store, std::string refused)
      : ForwardingStore(std::move(store)), refused_(std::move(refused)) {}
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (is_refused(key)) return refusal();
    return inner().read_into(key, target, options);
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    if (is_refused(key)) return refusal();
    return inner().stat(key, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    if (is_refused(prefix)) return refusal();
    return inner().list(prefix, options, visit);
  }

 private:
  bool is_refused(std::string_view key) const { return key.find(refused_) != key.npos; }
  static Error refusal() { return {Code::kPermissionDenied, "refused"}; }
  const std::string refused_;
};

// A stage that publishes things in the folder `made`.
std::vector<std::string> names_with(std::string_view suffix) {
  return {concat("made/thing", suffix), concat("left-####", suffix)};
}

StageOutput make_stage() {
  return {.stage = "make",
          .former_claim = kPlanKey,
          .folders = {{"made", "thing"}},
          .names = names_with(""),
          .names_of = [](std::uint64_t number, const OwnershipEntry& entry) {
            return names_with(number == 0 ? "" : owner_suffix(number, entry.action));
          }};
}

class OwnedOutputs : public testing::Test {
 protected:
  OwnedOutputs() : output(*stores.open("memory://test/out")) { put("_headrace/runs/1/start"); }

  void put(const std::string& key, std::string_view text = "x") {
    ASSERT_TRUE(write_text(*output.store, output.at(key).key, text));
  }
  std::set<std::string> keys() {
    std::set<std::string> out;
    const auto objects = list_all(*output.store, "out/");
    for (const ObjectInfo& object : *objects) out.insert(object.key.substr(4));
    return out;
  }

  Result<OwnedOutput> take(const Configuration& configuration, bool overwrite = false,
                           const std::string& run = "r") {
    HEADRACE_TRY(const OutputState seen, examine_output(output, stage, configuration, overwrite));
    return OwnedOutput::take(output, stage, seen,
                             {.configuration = configuration,
                              .actor = {.command = "make", .run = run, .id = run},
                              .action = OwnedOutput::action_for(seen, overwrite)});
  }
  // Writes a thing and publishes it.
  Result<Published> make(OwnedOutput& owned, const std::string& plan) {
    const std::string name = concat("thing", owned.suffix());
    HEADRACE_CHECK(write_text(*output.store, output.at("made/" + name).key, plan, {.only_if_absent = true}));
    return owned.in("made").publish(
        {.kind = "thing", .plan = plan, .parts = {{.key = name, .size_bytes = plan.size(), .role = "part"}}});
  }
  // The plan of the thing that readers find; empty: none.
  std::string current() {
    const auto published = read_published(output.at("made"), "thing");
    EXPECT_TRUE(published) << published.error().message;
    return published && *published ? (*published)->manifest.plan : "";
  }
  // Leaves what a Headrace without chains made.
  void make_former(const std::string& claim = R"({"stage":"make 1"})") {
    put("_headrace/plan", claim);
    put("made/thing");
    put("left-0001");
    Manifest manifest{.kind = "thing", .plan = "former"};
    for (const char* key : {"thing", "_headrace/manifest-00000001"})
      manifest.parts.push_back({.key = key, .role = "part"});
    put("made/_headrace/manifest-00000001", serialize_manifest(manifest));
  }

  // The output, if the store refuses what has keys with this text.
  Location refusing(const std::string& text) {
    Location place = output;
    place.store = std::make_shared<RefusingStore>(output.store, text);
    return place;
  }
  // Ends the chain of a folder as a removal does.
  void remove(const Location& place) {
    ASSERT_TRUE(Ownership::take(place, *read_chain(place), {.action = OwnershipAction::kRemove}));
  }

  StoreRegistry stores{Environment{}};
  Location output;
  const Configuration begun = {{"stage", "make 1"}};
  const Configuration other = {{"stage", "make 1"}, {"seed", "1"}};
  const StageOutput stage = make_stage();
};

TEST_F(OwnedOutputs, TheFirstOwnerHasPlainNames) {
  auto owned = take(begun);
  ASSERT_TRUE(owned) << owned.error().message;
  EXPECT_EQ(owned->suffix(), "");
  EXPECT_EQ(owned->files_folder(), "");
  ASSERT_TRUE(make(*owned, "a"));
  EXPECT_THAT(keys(), ElementsAre("_headrace/manifest-00000001", "_headrace/runs/1/start",
                                  "made/_headrace/manifest-00000001", "made/_headrace/manifest-00000002",
                                  "made/thing"));
}

TEST_F(OwnedOutputs, TheSameConfigurationTakesOverAndWhoeverWasThereIsLost) {
  auto stalled = take(begun, false, "stalled");
  auto heir = take(begun, false, "heir");
  ASSERT_TRUE(stalled && heir);
  EXPECT_EQ(heir->suffix(), "-o2");
  EXPECT_EQ(heir->files_folder(), "o2");
  const auto lost = make(*stalled, "stale");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
  EXPECT_THAT(lost.error().message, HasSubstr("taken over by headrace make, run heir"));
  ASSERT_TRUE(make(*heir, "b"));
  EXPECT_EQ(current(), "b");
  ASSERT_TRUE(remove_superseded(output, stage, heir->generation(), heir->entry()));
  EXPECT_FALSE(keys().contains("made/thing")) << "no manifest names what the stalled owner left";
  EXPECT_TRUE(keys().contains("made/thing-o2"));
}

TEST_F(OwnedOutputs, AnotherConfigurationIsRefusedAndChangesNothing) {
  ASSERT_TRUE(take(begun));
  const auto before = keys();
  const auto refused = take(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("seed was (absent) and is now 1"));
  EXPECT_EQ(keys(), before);
}

TEST_F(OwnedOutputs, WhatIsOverwrittenStaysUntilItsSuccessorIsPublished) {
  auto first = take(begun);
  ASSERT_TRUE(make(*first, "a"));
  auto second = take(other, true);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(current(), "a");
  EXPECT_EQ(*second->published("made"), std::nullopt) << "what it overwrites is not its own";
  EXPECT_EQ(*published_in(output, "made", *read_chain(output)), std::nullopt);
  EXPECT_FALSE(make(*first, "stale"));
  ASSERT_TRUE(make(*second, "b"));
  EXPECT_EQ(current(), "b");
  EXPECT_TRUE(keys().contains("made/thing")) << "it goes once the caller says so";
  ASSERT_TRUE(remove_superseded(output, stage, second->generation(), second->entry()));
  EXPECT_THAT(keys(), ElementsAre("_headrace/manifest-00000002", "_headrace/runs/1/start",
                                  "made/_headrace/manifest-00000003", "made/_headrace/manifest-00000004",
                                  "made/thing-o2"));
}

TEST_F(OwnedOutputs, AnOwnerThatDiedWhileItOverwroteIsContinuedInItsGeneration) {
  auto first = take(begun);
  ASSERT_TRUE(make(*first, "a"));
  ASSERT_TRUE(take(other, true));
  auto heir = take(other);
  ASSERT_TRUE(heir) << heir.error().message;
  EXPECT_EQ(heir->generation(), 2U);
  EXPECT_EQ(heir->published_number("made"), 0U) << "what is published belongs to the generation before";
  EXPECT_EQ(current(), "a");
}

TEST_F(OwnedOutputs, AnOwnerThatDiedBetweenTwoChainsIsContinued) {
  auto first = take(begun);
  ASSERT_TRUE(make(*first, "a"));
  // It had taken the output, and not yet its folders.
  const auto seen = examine_output(output, stage, other, true);
  ASSERT_TRUE(
      Ownership::take(output, seen->chain, {.action = OwnershipAction::kOverwrite, .configuration = other}));
  auto heir = take(other);
  ASSERT_TRUE(heir);
  EXPECT_EQ(heir->published_number("made"), 0U);
  EXPECT_FALSE(make(*first, "stale"));
  ASSERT_TRUE(make(*heir, "b"));
  EXPECT_EQ(current(), "b");
}

TEST_F(OwnedOutputs, AnEarlierOwnerTakesNoFolderAfterALaterOne) {
  const auto seen = examine_output(output, stage, begun, false);
  auto later = take(begun, false, "first");
  later = take(begun, false, "later");
  ASSERT_TRUE(later);
  const auto earlier = OwnedOutput::take(output, stage, *seen, {.configuration = begun});
  ASSERT_FALSE(earlier);
  EXPECT_EQ(earlier.error().code, Code::kAborted);
  ASSERT_TRUE(make(*later, "a"));
}

TEST_F(OwnedOutputs, RefusesWhereNothingOfTheStageWasBegun) {
  put("left-0001");
  const auto before = keys();
  const auto refused = take(begun, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("is not an output that headrace make began"));
  EXPECT_EQ(keys(), before);
}

TEST_F(OwnedOutputs, BeginsWhereOnlyOthersFilesLie) {
  put("left-mine");
  put("made-by-hand");
  EXPECT_TRUE(take(begun, true));
}

TEST_F(OwnedOutputs, RefusesWhatAnotherStageBegan) {
  const StageOutput remake{.stage = "remake", .former_claim = kConfigurationKey, .names_of = stage.names_of};
  const Location place = output.at("other");
  const auto seen = examine_output(place, remake, {{"stage", "remake 1"}}, false);
  ASSERT_TRUE(OwnedOutput::take(place, remake, *seen, {.configuration = {{"stage", "remake 1"}}}));
  for (const bool overwrite : {false, true}) {
    const auto before = keys();
    const auto refused = examine_output(place, stage, begun, overwrite);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message, HasSubstr("which is not output of headrace make;"));
    EXPECT_EQ(keys(), before);
  }
}

TEST_F(OwnedOutputs, RefusesAFolderInsideAnOutput) {
  ASSERT_TRUE(take(begun));
  const auto refused = examine_output(output.at("made"), stage, begun, true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("part of the output of"));
}

TEST_F(OwnedOutputs, BeginsAgainAfterARemoval) {
  auto first = take(begun);
  ASSERT_TRUE(make(*first, "a"));
  for (const Location& place : {output, output.at("made")}) {
    const auto seen = read_chain(place);
    ASSERT_TRUE(Ownership::take(
        place, *seen, {.action = OwnershipAction::kRemove, .output_entry = seen->owner.output_entry}));
  }
  EXPECT_EQ(current(), "");
  EXPECT_FALSE(*is_begun(output));
  EXPECT_FALSE(make(*first, "stale"));
  ASSERT_TRUE(remove_object(*output.store, output.at("made/thing").key));
  auto next = take(other);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_TRUE(*is_begun(output));
  EXPECT_EQ(next->suffix(), "-o3");
  ASSERT_TRUE(make(*next, "b"));
  EXPECT_EQ(current(), "b");
}

TEST_F(OwnedOutputs, WhatARemovalHasStillToRemoveIsReadByNobody) {
  auto first = take(begun);
  ASSERT_TRUE(make(*first, "a"));
  // The removal has ended the chain of the output, and not yet that of the folder.
  ASSERT_TRUE(Ownership::take(output, *read_chain(output), {.action = OwnershipAction::kRemove}));
  auto next = take(other);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(current(), "");
  // The same, with an owner that has died between the two chains.
  ASSERT_TRUE(make(*next, "b"));
  ASSERT_TRUE(Ownership::take(output, *read_chain(output), {.action = OwnershipAction::kRemove}));
  ASSERT_TRUE(Ownership::take(output, *read_chain(output),
                              {.action = OwnershipAction::kBegin, .configuration = begun}));
  auto heir = take(begun);
  ASSERT_TRUE(heir) << heir.error().message;
  EXPECT_EQ(current(), "");
  EXPECT_EQ(heir->published_number("made"), 0U);
}

TEST_F(OwnedOutputs, WhatFollowsADamagedEntryIsKeptUntilALaterOwnerIsSuperseded) {
  auto first = take(begun);
  ASSERT_TRUE(make(*first, "a"));
  auto second = take(other, true);
  ASSERT_TRUE(second && make(*second, "b"));
  auto third = take(other);
  ASSERT_TRUE(third && make(*third, "c"));
  // The folder's chain: begin, a, overwrite, b, take over, c.
  put("made/_headrace/manifest-00000003", "{");
  ASSERT_TRUE(remove_superseded(output, stage, third->generation(), third->entry()));
  for (const char* key : {"made/thing-o2", "made/_headrace/manifest-00000003",
                          "made/_headrace/manifest-00000004", "made/thing-o3"})
    EXPECT_TRUE(keys().contains(key)) << key;
  for (const char* key : {"made/thing", "made/_headrace/manifest-00000001"})
    EXPECT_FALSE(keys().contains(key)) << key;
  auto fourth = take(begun, true);
  ASSERT_TRUE(fourth && make(*fourth, "d"));
  ASSERT_TRUE(remove_superseded(output, stage, fourth->generation(), fourth->entry()));
  EXPECT_THAT(keys(), ElementsAre("_headrace/manifest-00000004", "_headrace/runs/1/start",
                                  "made/_headrace/manifest-00000007", "made/_headrace/manifest-00000008",
                                  "made/thing-o4"));
}

TEST_F(OwnedOutputs, WhatALaterOwnerPublishedIsNotTakenForOnesOwn) {
  auto first = take(begun);
  ASSERT_TRUE(make(*first, "a"));
  const ChainState seen = *read_chain(output);
  EXPECT_TRUE(*published_in(output, "made", seen));
  ASSERT_TRUE(take(other, true));
  const auto lost = published_in(output, "made", seen);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
}

TEST_F(OwnedOutputs, ADamagedEndIsToldAndOverwritten) {
  auto first = take(begun);
  ASSERT_TRUE(make(*first, "a"));
  put("_headrace/manifest-00000002", "{");
  EXPECT_EQ(take(begun).error().code, Code::kDataLoss);
  auto second = take(begun, true);
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_TRUE(make(*second, "b"));
  EXPECT_EQ(current(), "b");
}

TEST_F(OwnedOutputs, WhileAManifestIsDamagedNothingIsRemovedThatItMayName) {
  ASSERT_TRUE(take(begun));
  put("left-0001");
  auto second = take(other, true);
  ASSERT_TRUE(second && make(*second, "b"));
  auto third = take(other);
  ASSERT_TRUE(third && make(*third, "c"));
  const Location former =
      output.at(concat("made/_headrace/manifest-", zero_padded(second->in("made").last(), 8)));
  const Bytes whole = read_object(*output.store, former.key, 1'000)->data;
  ASSERT_TRUE(write_text(*output.store, former.key, "{"));
  const auto remove = [&] { return remove_superseded(output, stage, third->generation(), third->entry()); };
  const Status removed = remove();
  EXPECT_TRUE(removed) << "what is published is published: " << removed.error().message;
  for (const char* key : {"left-0001", "made/thing-o2", "made/thing-o3", "_headrace/manifest-00000001"})
    EXPECT_TRUE(keys().contains(key)) << key;
  ASSERT_TRUE(output.store->write(former.key, whole, {}));
  ASSERT_TRUE(remove());
  for (const char* key : {"made/thing-o2", "made/thing-o3"}) EXPECT_TRUE(keys().contains(key)) << key;
  for (const char* key : {"left-0001", "_headrace/manifest-00000001"})
    EXPECT_FALSE(keys().contains(key)) << key;
}

TEST_F(OwnedOutputs, WhatAFormerHeadraceBeganIsTakenOver) {
  make_former();
  EXPECT_TRUE(*is_begun(output));
  EXPECT_EQ(take(other).error().code, Code::kFailedPrecondition);
  auto owned = take(begun);
  ASSERT_TRUE(owned) << owned.error().message;
  EXPECT_EQ(owned->generation(), 0U);
  const auto published = owned->published("made");
  ASSERT_TRUE(published && *published);
  EXPECT_EQ((*published)->manifest.plan, "former");
  ASSERT_TRUE(make(*owned, "b"));
  ASSERT_TRUE(remove_superseded(output, stage, owned->generation(), owned->entry()));
  EXPECT_TRUE(keys().contains("made/thing")) << "it is of the same generation";
}

TEST_F(OwnedOutputs, WhatAFormerHeadraceMadeIsOverwritten) {
  make_former();
  auto owned = take(other, true);
  ASSERT_TRUE(owned) << owned.error().message;
  EXPECT_EQ(current(), "former");
  ASSERT_TRUE(make(*owned, "b"));
  ASSERT_TRUE(remove_superseded(output, stage, owned->generation(), owned->entry()));
  EXPECT_EQ(current(), "b");
  EXPECT_THAT(keys(), ElementsAre("_headrace/manifest-00000001", "_headrace/runs/1/start",
                                  "made/_headrace/manifest-00000002", "made/_headrace/manifest-00000003",
                                  "made/thing-o1"));
}

TEST_F(OwnedOutputs, ADamagedFormerClaimIsToldAndOverwritten) {
  make_former("{");
  EXPECT_EQ(take(begun).error().code, Code::kDataLoss);
  EXPECT_TRUE(take(begun, true));
}

TEST_F(OwnedOutputs, AFormerClaimOfAnotherStageIsRefused) {
  make_former(R"({"stage":"remake 1"})");
  for (const bool overwrite : {false, true}) {
    const auto refused = take(begun, overwrite);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("output of headrace remake"));
  }
}

TEST_F(OwnedOutputs, WhatIsPublishedAsAnotherKindIsRefused) {
  put("made/_headrace/manifest-00000001", serialize_manifest({.kind = "else"}));
  for (const bool overwrite : {false, true}) {
    const auto refused = take(begun, overwrite);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("is a else folder, not a thing folder"));
  }
  StageOutput of_two = stage;
  of_two.folders = {{"made", "thing", "else"}};
  EXPECT_TRUE(examine_output(output, of_two, begun, false));
}

TEST_F(OwnedOutputs, RemovingMatchesLeavesAllOthers) {
  for (const char* key : {"left-0001", "left-0002", "left-x", "right/left-0001"}) put(key);
  ASSERT_TRUE(remove_matching(output, "left-####"));
  EXPECT_THAT(keys(), ElementsAre("_headrace/runs/1/start", "left-x", "right/left-0001"));
  ASSERT_TRUE(remove_matching(output, "right/"));
  ASSERT_TRUE(remove_matching(output, "none-#"));
  EXPECT_THAT(keys(), ElementsAre("_headrace/runs/1/start", "left-x"));
  const Location root = *stores.open("memory://test/");
  ASSERT_TRUE(remove_matching(root, "out/left-*"));
  EXPECT_THAT(keys(), ElementsAre("_headrace/runs/1/start"));
}

TEST_F(OwnedOutputs, TheConfigurationIsThatOfWhatTheStageBegan) {
  EXPECT_EQ(*begun_configuration(output, stage), std::nullopt);
  put("_headrace/plan", R"({"stage":"make 1","seed":7})");
  EXPECT_EQ((*begun_configuration(output, stage))->at("seed"), "7");
  put("_headrace/plan", R"({"stage":"remake 1"})");
  EXPECT_EQ(*begun_configuration(output, stage), std::nullopt);
  put("_headrace/plan", R"({"seed":7})");
  EXPECT_EQ(*begun_configuration(output, stage), std::nullopt) << "it names no stage";
  put("_headrace/plan", "{");
  EXPECT_EQ(*begun_configuration(output, stage), std::nullopt);
  EXPECT_EQ(begun_configuration(refusing("_headrace/plan"), stage).error().code, Code::kPermissionDenied);
  ASSERT_TRUE(remove_object(*output.store, output.at("_headrace/plan").key));
  ASSERT_TRUE(take(begun));
  EXPECT_EQ(*begun_configuration(output, stage), begun);
  const StageOutput remake{.stage = "remake", .former_claim = kPlanKey};
  EXPECT_EQ(*begun_configuration(output, remake), std::nullopt);
  remove(output);
  EXPECT_EQ(*begun_configuration(output, stage), std::nullopt);
  put("_headrace/manifest-00000003", "{");
  put("_headrace/plan", R"({"stage":"make 1"})");
  EXPECT_EQ(*begun_configuration(output, stage), std::nullopt) << "a damaged chain tells nothing";
}

TEST_F(OwnedOutputs, AnOutputIsBegunByAnEntryOrAFormerClaim) {
  EXPECT_FALSE(*is_begun(output));
  for (const std::string_view key : {kPlanKey, kConfigurationKey}) {
    put(std::string(key));
    EXPECT_TRUE(*is_begun(output)) << key;
    EXPECT_EQ(is_begun(refusing(std::string(key))).error().code, Code::kPermissionDenied) << key;
    ASSERT_TRUE(remove_object(*output.store, output.at(key).key));
  }
  ASSERT_TRUE(take(begun));
  EXPECT_TRUE(*is_begun(output));
}

TEST_F(OwnedOutputs, TheConfigurationOfWhatIsPublishedIsThatOfItsEntryOrOfTheFormerClaim) {
  Manifest manifest;
  EXPECT_EQ(*configuration_of(output, manifest, kPlanKey), std::nullopt);
  put("_headrace/plan", R"({"stage":"make 1"})");
  EXPECT_EQ(*configuration_of(output, manifest, kPlanKey), begun);
  EXPECT_EQ(*configuration_of(output, manifest, kConfigurationKey), std::nullopt);
  put("_headrace/plan", "{");
  EXPECT_EQ(configuration_of(output, manifest, kPlanKey).error().code, Code::kDataLoss);
  ASSERT_TRUE(take(other, true));
  manifest.entry = 1;
  EXPECT_EQ(*configuration_of(output, manifest, kPlanKey), other);
  EXPECT_EQ(configuration_of(refusing("manifest-00000001"), manifest, kPlanKey).error().code,
            Code::kPermissionDenied);
  put("_headrace/manifest-00000002", serialize_manifest({.kind = "thing", .entry = 1}));
  put("_headrace/manifest-00000001", "{");
  EXPECT_EQ(configuration_of(output, manifest, kPlanKey).error().code, Code::kAborted)
      << "with damage in the chain, nobody says that the entry is in force";
  remove(output);
  const auto gone = configuration_of(output, manifest, kPlanKey);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::kAborted);
  EXPECT_THAT(gone.error().message, HasSubstr("memory://test/out was overwritten or removed meanwhile"));
}

TEST_F(OwnedOutputs, WhatIsPublishedInAFolderIsThatOfTheGenerationThatWasSeen) {
  const auto number = [&](const ChainState& seen) -> std::uint64_t {
    const auto published = published_in(output, "made", seen);
    EXPECT_TRUE(published) << published.error().message;
    return published && *published ? (*published)->number : 0;
  };
  auto first = take(begun);
  const ChainState seen = *read_chain(output);
  EXPECT_EQ(number(seen), 0U);
  ASSERT_TRUE(make(*first, "a"));
  EXPECT_EQ(number(seen), 2U);
  auto heir = take(begun);
  EXPECT_EQ(number(*read_chain(output)), 2U) << "it is of the same generation";
  EXPECT_EQ(heir->published_number("made"), 2U);
  EXPECT_EQ((*heir->published("made"))->manifest.plan, "a");
  EXPECT_EQ(heir->published_number(""), 0U);
  EXPECT_EQ(*heir->published(""), std::nullopt);
  put("made/_headrace/manifest-00000004", "{");
  EXPECT_EQ(published_in(output, "made", *read_chain(output)).error().code, Code::kDataLoss);
}

TEST_F(OwnedOutputs, WhoeverFindsAnOutputTakesItOverBeginsOrOverwrites) {
  const auto action = [](const OutputState& seen, bool overwrite) {
    return OwnedOutput::action_for(seen, overwrite);
  };
  EXPECT_EQ(action({}, false), OwnershipAction::kBegin);
  EXPECT_EQ(action({}, true), OwnershipAction::kBegin) << "there is nothing to overwrite";
  EXPECT_EQ(action({.begun = begun, .is_own = true}, false), OwnershipAction::kTakeOver);
  EXPECT_EQ(action({.begun = begun}, true), OwnershipAction::kOverwrite);
  EXPECT_EQ(action({.chain = {.damage = Error{Code::kDataLoss, ""}}}, true), OwnershipAction::kOverwrite);
  EXPECT_EQ(action({.chain = {.published = 1}}, true), OwnershipAction::kOverwrite);
  EXPECT_EQ(action({.begun = begun}, false), OwnershipAction::kBegin);
}

TEST_F(OwnedOutputs, ThoseWhoJoinHaveTheEntryInForce) {
  const StageOutput alone{.stage = "make", .former_claim = kPlanKey, .folders = {{"", "thing"}}};
  auto first = OwnedOutput::take(output, alone, *examine_output(output, alone, begun, false),
                                 {.configuration = begun});
  ASSERT_TRUE(first) << first.error().message;
  auto second = OwnedOutput::take(output, alone, *examine_output(output, alone, begun, false),
                                  {.configuration = begun, .action = OwnershipAction::kTakeOver});
  ASSERT_TRUE(second) << second.error().message;
  const OutputState seen = *examine_output(output, alone, begun, false);
  EXPECT_TRUE(seen.is_own);
  OwnedOutput joined = OwnedOutput::join(output, alone, seen);
  EXPECT_EQ(joined.entry(), 2U);
  EXPECT_EQ(joined.generation(), 1U);
  EXPECT_EQ(joined.published_number(""), 0U);
  const auto made = joined.in("").publish({.kind = "thing", .plan = "a"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->number, 3U);
  EXPECT_TRUE(second->in("").publish({.kind = "thing", .plan = "a"})) << "it made the same";
}

TEST_F(OwnedOutputs, WithoutAnOwnerNothingOfTheStagesNamesMayLieThere) {
  for (const char* key : {"left-0001", "made/anything", "made/deep/in/it"}) {
    put(key);
    const auto refused = examine_output(output, stage, begun, true);
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message, HasSubstr(concat("it holds memory://test/out/", key, ";")));
    EXPECT_TRUE(examine_output(output, stage, begun, false)) << "without overwriting, nothing is removed";
    ASSERT_TRUE(remove_object(*output.store, output.at(key).key));
  }
  put("made/_headrace/manifest-00000001", "{");
  EXPECT_TRUE(examine_output(output, stage, begun, true)) << "the chain of a folder does not count";
}

TEST_F(OwnedOutputs, RefusesWhereTheOutputItselfIsPublished) {
  put("_headrace/manifest-00000001", serialize_manifest({.kind = "dataset"}));
  for (const bool overwrite : {false, true}) {
    const auto refused = take(begun, overwrite);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message,
                HasSubstr("memory://test/out holds a published dataset, which is not output"));
  }
  StageOutput of_output = stage;
  of_output.folders = {{"", "dataset"}};
  EXPECT_TRUE(examine_output(output, of_output, begun, false));
}

TEST_F(OwnedOutputs, AFormerClaimWhereAnotherStageKeptItIsRefused) {
  for (const char* claim : {R"({"stage":"make 1"})", R"({"seed":"1"})", "{"}) {
    put("_headrace/configuration", claim);
    for (const bool overwrite : {false, true}) {
      const auto refused = examine_output(output, stage, begun, overwrite);
      ASSERT_FALSE(refused) << claim;
      EXPECT_EQ(refused.error().code, Code::kFailedPrecondition) << claim;
      EXPECT_THAT(refused.error().message, HasSubstr("memory://test/out/_headrace/configuration")) << claim;
    }
  }
}

TEST_F(OwnedOutputs, WhatTheStoreRefusesIsNotTakenForAbsent) {
  const auto examined = [&](const std::string& refused) {
    const auto state = examine_output(refusing(refused), stage, begun, true);
    return state ? std::optional<Code>() : state.error().code;
  };
  for (const char* refused : {"out/_headrace/manifest", "_headrace/plan", "_headrace/configuration",
                              "made/_headrace/manifest", "left-"})
    EXPECT_EQ(examined(refused), Code::kPermissionDenied) << refused;
  EXPECT_EQ(examined("other"), std::nullopt);
  make_former();
  EXPECT_EQ(examined("made/_headrace/manifest-00000001"), Code::kPermissionDenied);
  ASSERT_TRUE(take(begun));
  auto first = take(other, true);
  ASSERT_TRUE(first && make(*first, "a"));
  const auto removed = [&](const std::string& refused) {
    const Status status = remove_superseded(refusing(refused), stage, first->generation(), first->entry());
    return status ? std::optional<Code>() : status.error().code;
  };
  for (const char* refused : {"_headrace/plan", "out/_headrace/manifest", "made/_headrace/manifest",
                              "made/_headrace/manifest-00000001"})
    EXPECT_EQ(removed(refused), Code::kPermissionDenied) << refused;
  EXPECT_TRUE(keys().contains("_headrace/plan"));
  EXPECT_EQ(removed("other"), std::nullopt);
  EXPECT_FALSE(keys().contains("_headrace/plan"));
}

TEST_F(OwnedOutputs, WhatWasBegunBeforeChainsAndNeverPublishedIsRemovedWhenItIsOverwritten) {
  put("_headrace/plan", R"({"stage":"make 1"})");
  for (const char* key : {"made/thing", "left-0001", "left-mine"}) put(key);
  auto owned = take(other, true);
  ASSERT_TRUE(owned) << owned.error().message;
  EXPECT_EQ(owned->suffix(), "-o1");
  EXPECT_THAT(keys(), ElementsAre("_headrace/manifest-00000001", "_headrace/runs/1/start", "left-mine",
                                  "made/_headrace/manifest-00000001"));
}

}  // namespace
}  // namespace headrace

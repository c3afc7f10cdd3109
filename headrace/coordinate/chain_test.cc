#include "headrace/coordinate/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// Calls `before_read` before each read, with the number of reads so far.
class WatchedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (before_read) HEADRACE_CHECK(before_read(++reads));
    return inner().read_into(key, target, options);
  }
  std::function<Status(int)> before_read;
  int reads = 0;
};

class Chain : public testing::Test {
 protected:
  Chain() : folder(*stores.open("memory://test/out")) {}

  Result<Ownership> append(OwnershipAction action, const std::string& id) {
    HEADRACE_TRY(const ChainState seen, read_chain(folder));
    return Ownership::take(folder, seen, entry(action, id));
  }
  static OwnershipEntry entry(OwnershipAction action, const std::string& id) {
    return {
        .action = action, .configuration = {{"seed", id}}, .actor = {.command = "make", .run = id, .id = id}};
  }
  static Manifest manifest(const std::string& plan) {
    return {.kind = "dataset", .created_by = "r", .plan = plan, .parts = {{.key = plan, .role = "shard"}}};
  }
  /// The plan of the manifest that readers take; empty: nothing is published.
  std::string current() const {
    const auto object = read_current_manifest(folder);
    EXPECT_TRUE(object) << object.error().message;
    return object && *object ? parse_manifest((*object)->data)->plan : "";
  }
  void put(std::uint64_t number, std::string_view text) {
    ASSERT_TRUE(write_text(*folder.store, numbered_key(folder.at(kManifestPrefix).key, number), text));
  }

  std::string key(std::uint64_t number) const { return numbered_key(folder.at(kManifestPrefix).key, number); }
  // The folder, through a store that calls `before_read`.
  Location watched(std::function<Status(int)> before_read) const {
    const auto store = std::make_shared<WatchedStore>(folder.store);
    store->before_read = std::move(before_read);
    Location place = folder;
    place.store = store;
    return place;
  }
  // Answers as if the object were gone, up to this read.
  static std::function<Status(int)> gone_until(int read) {
    return [read](int now) { return now < read ? Status(Error{Code::kNotFound, "gone"}) : Status{}; };
  }

  StoreRegistry stores{Environment{}};
  Location folder;
};

TEST_F(Chain, AnEmptyOneIsFree) {
  const auto state = read_chain(folder);
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->is_free());
  EXPECT_EQ(current(), "");
}

TEST_F(Chain, AnOwnerPublishesNumberAfterNumber) {
  auto owner = append(OwnershipAction::kBegin, "a");
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ(owner->entry(), 1U);
  EXPECT_EQ(current(), "");
  EXPECT_EQ(owner->publish(manifest("p1"))->number, 2U);
  EXPECT_EQ(owner->publish(manifest("p2"))->number, 3U);
  EXPECT_EQ(current(), "p2");
  const auto state = read_chain(folder);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->entry, 1U);
  EXPECT_EQ(state->published_now(), 3U);
  EXPECT_EQ(state->owner.actor.run, "a");
}

TEST_F(Chain, ANumberThatWasRemovedIsNotUsedAgain) {
  auto stalled = append(OwnershipAction::kBegin, "a");
  const auto seen = read_chain(folder);
  auto second = append(OwnershipAction::kOverwrite, "b");
  ASSERT_TRUE(second->publish(manifest("p2")));
  auto third = append(OwnershipAction::kOverwrite, "c");
  ASSERT_TRUE(third->publish(manifest("p3")));
  for (const std::uint64_t number : {1, 2, 3})
    ASSERT_TRUE(remove_object(*folder.store, numbered_key(folder.at(kManifestPrefix).key, number)));
  const auto lost = stalled->publish(manifest("stale"));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
  EXPECT_THAT(lost.error().message, HasSubstr("run c"));
  const auto late = Ownership::take(folder, *seen, entry(OwnershipAction::kTakeOver, "d"));
  ASSERT_TRUE(late);
  EXPECT_EQ(late->check_held().error().code, Code::kAborted);
  EXPECT_TRUE(third->check_held());
  const auto objects = list_all(*folder.store, folder.at(kManifestPrefix).key);
  ASSERT_TRUE(objects);
  for (const ObjectInfo& object : *objects) {
    const auto data = read_object(*folder.store, object.key, 1 << 20)->data;
    EXPECT_TRUE(is_entry(data) || parse_manifest(data)->plan == "p3") << object.key;
  }
  EXPECT_EQ(current(), "p3");
}

TEST_F(Chain, SomebodyWhoTakesOverAtOnceDoesNotUnpublish) {
  auto first = append(OwnershipAction::kBegin, "a");
  ASSERT_TRUE(first->publish(manifest("p1")));
  auto second = append(OwnershipAction::kTakeOver, "b");
  ASSERT_TRUE(second->publish(manifest("p2")));
  const auto state = read_chain(folder);
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->counts(2)) << "of the same generation";
  EXPECT_TRUE(state->counts(4));
  auto third = append(OwnershipAction::kOverwrite, "c");
  ASSERT_TRUE(third);
  EXPECT_TRUE(read_chain(folder)->counts(4)) << "readers take it until the third has published";
  EXPECT_FALSE(read_chain(folder)->counts(2));
  ASSERT_TRUE(third->publish(manifest("p3")));
  EXPECT_FALSE(read_chain(folder)->counts(4));
}

TEST_F(Chain, WhoeverWasTakenOverPublishesNothingAndIsToldByWhom) {
  auto first = append(OwnershipAction::kBegin, "a");
  ASSERT_TRUE(first->publish(manifest("p1")));
  auto second = append(OwnershipAction::kTakeOver, "b");
  ASSERT_TRUE(second);
  const auto lost = first->publish(manifest("stale"));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
  EXPECT_THAT(lost.error().message, HasSubstr("was taken over by headrace make, run b"));
  EXPECT_EQ(current(), "p1");
  ASSERT_TRUE(second->publish(manifest("p2")));
  EXPECT_FALSE(first->publish(manifest("stale")));
  EXPECT_EQ(current(), "p2");
  EXPECT_EQ(read_chain(folder)->published_now(), 4U) << "it goes on with the same generation";
}

TEST_F(Chain, WhatIsOverwrittenIsReadUntilItsSuccessorIsPublished) {
  auto first = append(OwnershipAction::kBegin, "a");
  ASSERT_TRUE(first->publish(manifest("p1")));
  auto second = append(OwnershipAction::kOverwrite, "b");
  ASSERT_TRUE(second);
  EXPECT_EQ(current(), "p1");
  EXPECT_EQ(read_chain(folder)->published_now(), 0U);
  auto heir = append(OwnershipAction::kTakeOver, "c");
  ASSERT_TRUE(heir);
  EXPECT_EQ(heir->generation(), 3U);
  EXPECT_EQ(current(), "p1");
  EXPECT_FALSE(second->publish(manifest("lost")));
  ASSERT_TRUE(heir->publish(manifest("p2")));
  EXPECT_EQ(current(), "p2");
}

TEST_F(Chain, RemovalPublishesNothingAndItsNumberIsNeverUsedAgain) {
  auto first = append(OwnershipAction::kBegin, "a");
  ASSERT_TRUE(first->publish(manifest("p1")));
  ASSERT_TRUE(append(OwnershipAction::kRemove, "rm"));
  EXPECT_EQ(current(), "");
  EXPECT_TRUE(read_chain(folder)->is_free());
  const auto lost = first->publish(manifest("stale"));
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("was removed by headrace make, run rm"));
  auto next = append(OwnershipAction::kBegin, "b");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->entry(), 4U);
  EXPECT_EQ(read_chain(folder)->published, 0U);
}

TEST_F(Chain, OfTwoThatSawTheSameEndOneWins) {
  const auto seen = read_chain(folder);
  ASSERT_TRUE(Ownership::take(folder, *seen, entry(OwnershipAction::kBegin, "a")));
  const auto second = Ownership::take(folder, *seen, entry(OwnershipAction::kBegin, "b"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAborted);
  EXPECT_THAT(second.error().message, HasSubstr("run a"));
}

TEST_F(Chain, ThoseWhoShareAnOwnershipAndMakeTheSameBothSucceed) {
  auto first = append(OwnershipAction::kBegin, "a");
  Ownership joined(folder, first->entry(), first->generation(), first->last());
  const auto made = first->publish(manifest("p1"));
  Manifest same = manifest("p1");
  same.created_by = "another run";
  const auto again = joined.publish(same);
  ASSERT_TRUE(made && again);
  EXPECT_EQ(again->number, made->number);
  EXPECT_EQ(again->digest, made->digest);
  Ownership late(folder, first->entry(), first->generation(), first->entry());
  EXPECT_FALSE(late.publish(manifest("p2"))) << "another plan is not a duplicate";
  Manifest other_parts = manifest("p1");
  other_parts.parts[0].crc32c = 1;
  EXPECT_FALSE(late.publish(other_parts));
}

TEST_F(Chain, ManifestsOlderThanOwnershipAreTakenOver) {
  put(1, serialize_manifest(manifest("old 1")));
  put(2, serialize_manifest(manifest("old 2")));
  const auto seen = read_chain(folder);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->entry, 0U);
  EXPECT_EQ(seen->published_now(), 2U);
  EXPECT_FALSE(seen->is_free());
  const auto heir = append(OwnershipAction::kTakeOver, "a");
  ASSERT_TRUE(heir);
  EXPECT_EQ(heir->generation(), 0U);
  EXPECT_EQ(current(), "old 2");
  EXPECT_EQ(read_chain(folder)->published_now(), 2U);
}

TEST_F(Chain, ADamagedEndIsToldAndCanBeOverwritten) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a")->publish(manifest("p1")));
  for (const std::string& text : {std::string("{"), std::string(R"({"action":"begin"})"),
                                  serialize_manifest(manifest("p")).replace(20, 1, "~")}) {
    put(3, text);
    const auto seen = read_chain(folder);
    ASSERT_TRUE(seen);
    ASSERT_TRUE(seen->damage);
    EXPECT_EQ(seen->damage->code, Code::kDataLoss);
    EXPECT_THAT(seen->damage->message, HasSubstr("manifest-00000003"));
    EXPECT_FALSE(seen->is_free());
    ASSERT_TRUE(remove_object(*folder.store, numbered_key(folder.at(kManifestPrefix).key, 3)));
  }
  put(3, "{");
  EXPECT_EQ(append(OwnershipAction::kOverwrite, "b")->entry(), 4U);
  EXPECT_EQ(current(), "");
}

TEST_F(Chain, AnEntryWithNumbersThatItCannotHaveIsDamage) {
  OwnershipEntry forged = entry(OwnershipAction::kBegin, "a");
  forged.generation = std::uint64_t{1} << 63;
  put(1, serialize_entry(forged));
  Manifest published = manifest("p1");
  published.entry = 1;
  for (const std::uint64_t last : {1, 2}) {
    const auto seen = read_chain(folder);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->last, last);
    ASSERT_TRUE(seen->damage);
    EXPECT_THAT(seen->damage->message, HasSubstr("entry 1 cannot have generation 9223372036854775808"));
    EXPECT_TRUE(seen->counts(1) && seen->counts(2)) << "nothing is superseded";
    if (last == 1) put(2, serialize_manifest(published));
  }
}

TEST_F(Chain, AnEntryThatNamesWhatIsNoManifestBeforeItIsDamage) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a")->publish(manifest("p1")));
  for (const std::uint64_t named : {1, 3, 4}) {
    OwnershipEntry forged = entry(OwnershipAction::kContinue, "b");
    forged.generation = 1;
    forged.published = named;
    put(3, serialize_entry(forged));
    const auto read = read_current_manifest(folder);
    ASSERT_FALSE(read) << named;
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    ASSERT_TRUE(remove_object(*folder.store, numbered_key(folder.at(kManifestPrefix).key, 3)));
  }
}

TEST_F(Chain, ObjectsWithOtherNamesAreNotOfIt) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a")->publish(manifest("p1")));
  for (const std::string_view digits : {"3", "000000003", "18446744073709551615"})
    ASSERT_TRUE(write_text(*folder.store, concat(folder.at(kManifestPrefix).key, digits), "{"));
  EXPECT_EQ(current(), "p1");
  EXPECT_EQ(append(OwnershipAction::kOverwrite, "b")->entry(), 3U);
}

TEST_F(Chain, ItEndsAtTheLargestNumber) {
  put(kLargestNumber, "{");
  const auto taken = append(OwnershipAction::kOverwrite, "a");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kResourceExhausted);
  EXPECT_EQ(list_all(*folder.store, folder.key)->size(), 1U);
}

TEST_F(Chain, ANewerEntryIsNotTakenForDamage) {
  std::string text = serialize_entry(entry(OwnershipAction::kBegin, "a"));
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  put(1, text);
  EXPECT_EQ(read_chain(folder).error().code, Code::kUnimplemented);
  EXPECT_EQ(read_current_manifest(folder).error().code, Code::kUnimplemented);
}

TEST_F(Chain, AManifestThatIsGoneAlthoughItIsNamedIsDamage) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a")->publish(manifest("p1")));
  ASSERT_TRUE(append(OwnershipAction::kContinue, "b"));
  EXPECT_EQ(current(), "p1");
  ASSERT_TRUE(remove_object(*folder.store, numbered_key(folder.at(kManifestPrefix).key, 2)));
  const auto read = read_current_manifest(folder);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kDataLoss);
  EXPECT_THAT(read.error().message, HasSubstr("manifest-00000002 is gone"));
}

TEST_F(Chain, AnEntryThatIsTooLargeIsNotWritten) {
  OwnershipEntry large = entry(OwnershipAction::kBegin, "a");
  large.configuration["vocabulary"] = std::string(kOwnershipEntryLimitBytes, 'x');
  const auto taken = Ownership::take(folder, *read_chain(folder), large);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kResourceExhausted);
  EXPECT_TRUE(read_chain(folder)->is_free());
}

TEST_F(Chain, AnEndThatIsRemovedWhileItIsReadIsReadAgainFiveTimesInAll) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a"));
  const auto found = read_chain(watched(gone_until(5)));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->entry, 1U);
  const auto lost = read_chain(watched(gone_until(6)));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kDataLoss);
  EXPECT_THAT(lost.error().message, HasSubstr("manifest-00000001 cannot be read"));
}

TEST_F(Chain, DamageThatSomebodyHasReplacedMeanwhileIsNone) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a"));
  put(2, "{");
  const auto read = read_chain(watched([&](int now) -> Status {
    if (now == 1) {
      EXPECT_TRUE(append(OwnershipAction::kOverwrite, "b"));
    }
    return {};
  }));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(read->damage);
  EXPECT_EQ(read->entry, 3U);
  put(4, "{");
  int number = 4;
  const auto never = read_chain(watched([&](int) -> Status {
    put(++number, "{");
    return {};
  }));
  ASSERT_TRUE(never) << never.error().message;
  EXPECT_TRUE(never->damage) << "nobody waits for ever";
  EXPECT_EQ(never->last, 8U) << "of the fifth attempt";
}

TEST_F(Chain, AManifestThatSomebodyReplacesWhileItIsReadIsReadAgainFiveTimesInAll) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a")->publish(manifest("p1")));
  const auto found = read_current_manifest(watched(gone_until(5)));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)->number, 2U);
  const auto lost = read_current_manifest(watched(gone_until(6)));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kDataLoss);
  EXPECT_THAT(lost.error().message, HasSubstr("manifest-00000002 is gone"));
}

TEST_F(Chain, AnErrorOfTheStoreIsNeitherAbsenceNorDamage) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a")->publish(manifest("p1")));
  const Location broken = watched([](int) {
    return Status(Error{Code::kUnavailable, "the network is gone"});
  });
  EXPECT_EQ(read_chain(broken).error().code, Code::kUnavailable);
  EXPECT_EQ(read_number(broken, 1).error().code, Code::kUnavailable);
  EXPECT_EQ(read_entry(broken, 1).error().code, Code::kUnavailable);
  EXPECT_EQ(read_current_manifest(broken).error().code, Code::kUnavailable);
  const Location once = watched([](int read) {
    return read == 2 ? Status(Error{Code::kUnavailable, "the network is gone"}) : Status{};
  });
  EXPECT_EQ(read_chain(once).error().code, Code::kUnavailable) << "the entry that the manifest names";
}

TEST_F(Chain, AnEntryIsReadByItsNumber) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a")->publish(manifest("p1")));
  EXPECT_EQ(read_entry(folder, 1)->actor.run, "a");
  const auto other = read_entry(folder, 2);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kDataLoss);
  EXPECT_THAT(other.error().message, HasSubstr("memory://test/out/_headrace/manifest-00000002"));
  const auto missing = read_entry(folder, 3);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kDataLoss);
  EXPECT_THAT(missing.error().message, HasSubstr("manifest-00000003 is gone, although the chain names it"));
  EXPECT_EQ(*read_number(folder, 3), std::nullopt);
  const auto object = read_number(folder, 2);
  EXPECT_EQ((*object)->number, 2U);
  EXPECT_EQ((*object)->object.key, key(2));
}

TEST_F(Chain, AnEntryThatNamesAnEntryAsPublishedSaysSo) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a"));
  OwnershipEntry forged = entry(OwnershipAction::kContinue, "b");
  forged.generation = forged.published = 1;
  put(2, serialize_entry(forged));
  EXPECT_THAT(read_current_manifest(folder).error().message,
              HasSubstr("manifest-00000001 is not a manifest"));
}

TEST_F(Chain, AManifestWhoseEntryIsGoneIsDamage) {
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a")->publish(manifest("p1")));
  ASSERT_TRUE(remove_object(*folder.store, key(1)));
  const auto seen = read_chain(folder);
  ASSERT_TRUE(seen && seen->damage);
  EXPECT_EQ(seen->last, 2U);
  EXPECT_EQ(seen->published, 0U);
  EXPECT_EQ(seen->entry, 0U);
}

TEST_F(Chain, EntriesKeepTheGenerationAndWhatIsPublishedAsTheirActionSays) {
  const auto last = [&] { return *read_chain(folder); };
  ASSERT_TRUE(append(OwnershipAction::kBegin, "a")->publish(manifest("p1")));
  struct Step {
    OwnershipAction action;
    std::uint64_t generation, published;
  };
  for (const Step& step : std::vector<Step>{{OwnershipAction::kTakeOver, 1, 2},
                                            {OwnershipAction::kContinue, 1, 2},
                                            {OwnershipAction::kOverwrite, 5, 2},
                                            {OwnershipAction::kRemove, 6, 0},
                                            {OwnershipAction::kBegin, 7, 0}}) {
    const auto owner = append(step.action, "b");
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->generation(), step.generation);
    EXPECT_EQ(owner->last(), owner->entry());
    EXPECT_EQ(last().generation(), step.generation);
    EXPECT_EQ(last().published, step.published);
    EXPECT_EQ(last().owner.action, step.action);
    EXPECT_EQ(last().has_ended(), step.action == OwnershipAction::kRemove);
    EXPECT_EQ(last().is_free(), step.action == OwnershipAction::kRemove);
  }
}

TEST_F(Chain, WhoeverLostIsToldByWhomAndHow) {
  struct Loss {
    OwnershipAction action;
    const char* how;
  };
  auto stalled = append(OwnershipAction::kBegin, "a");
  for (const Loss& loss :
       std::vector<Loss>{{OwnershipAction::kTakeOver, "was taken over by headrace make, run b"},
                         {OwnershipAction::kContinue, "was continued by headrace make, run b"},
                         {OwnershipAction::kOverwrite, "is being overwritten by headrace make"},
                         {OwnershipAction::kRemove, "was removed by headrace make, run b"}}) {
    const std::uint64_t number = append(loss.action, "b")->entry();
    const Error lost = lost_output(folder, number);
    EXPECT_EQ(lost.code, Code::kAborted);
    EXPECT_THAT(lost.message, HasSubstr(std::string("memory://test/out ") + loss.how));
  }
  auto owner = append(OwnershipAction::kBegin, "c");
  ASSERT_TRUE(owner->publish(manifest("p1")));
  EXPECT_THAT(lost_output(folder, owner->last()).message, HasSubstr("run c")) << "the manifest's entry";
  put(8, serialize_manifest(manifest("old")));
  for (const std::uint64_t number : {8, 99})
    EXPECT_THAT(lost_output(folder, number).message, HasSubstr("was taken over by another process"));
}

TEST_F(Chain, WhatIsPublishedHasItsEntryAndIsToldByItsDigest) {
  auto owner = append(OwnershipAction::kBegin, "a");
  const auto made = owner->publish(manifest("p1"));
  ASSERT_TRUE(made);
  EXPECT_EQ(owner->last(), 2U);
  const auto object = read_number(folder, 2);
  EXPECT_EQ(made->digest, sha256_hex((*object)->data));
  EXPECT_EQ(parse_manifest((*object)->data)->entry, 1U);
  EXPECT_TRUE(owner->check_held());
  ASSERT_TRUE(append(OwnershipAction::kTakeOver, "b"));
  const Status held = owner->check_held();
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::kAborted);
  EXPECT_THAT(held.error().message, HasSubstr("run b"));
}

}  // namespace
}  // namespace headrace

#include "headrace/serve/version/model_source.h"

#include <random>
#include <set>

#include "headrace/coordinate/chain.h"
#include "headrace/serve/version/published_models_test.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/numbered.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Choice = VersionPolicy::Choice;

// Refuses every call while `is_down`, or those about keys that hold `text`.
class RefusingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    if (refuses(key)) return Error{Code::kUnavailable, "the network is gone"};
    return inner().stat(key, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    if (refuses(prefix)) return Error{Code::kUnavailable, "the network is gone"};
    return inner().list(prefix, options, visit);
  }

  std::string text = "nothing";

 private:
  bool refuses(std::string_view key) const { return key.find(text) != std::string_view::npos; }
};

class SourceOfModel : public testing::Test {
 protected:
  SourceOfModel() { root.store = std::shared_ptr<Store>(make_memory_store("out")); }

  Location model() const { return named_model_folder(root, "m"); }

  // Takes, publishes and names a version.
  void publish(std::uint64_t number) {
    ASSERT_EQ(*take_version(model(), concat("s3://b/", number), concat("d", number)), number);
    publish_version(model(), number, concat("v", number));
    ASSERT_TRUE(advance_latest(model(), number, "run"));
  }

  std::unique_ptr<ModelSource> open(const Location& place, const VersionPolicy& policy = {}) {
    auto source = open_model_source(place, policy);
    EXPECT_TRUE(source) << source.error().message;
    return source ? *std::move(source) : nullptr;
  }

  // Requests of one poll in which nothing has changed, once it was opened.
  std::uint64_t calls_of_poll(const Location& place, const VersionPolicy& policy = {}) {
    const auto metrics = std::make_shared<StoreMetrics>();
    const auto source = open(make_metered(place, metrics), policy);
    EXPECT_FALSE(source->wanted().versions.empty());
    const std::uint64_t before = calls_in(*metrics);
    EXPECT_FALSE(poll_of(*source));
    return calls_in(*metrics) - before;
  }

  Location root;
};

TEST_F(SourceOfModel, VersionsThatAliasesNameAreWanted) {
  for (std::uint64_t number = 1; number <= 3; ++number) publish(number);
  ASSERT_TRUE(point_alias(model(), "stable", 1, "run"));
  const auto source = open(model());
  EXPECT_EQ(source->describe(), "the named model memory://out/models/m");
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1, 3));
  EXPECT_THAT(source->wanted().labels, ElementsAre(Pair("latest", 3), Pair("stable", 1)));
  EXPECT_THAT(source->wanted().remarks, IsEmpty());
  const auto version = find_version(source->wanted(), 3);
  ASSERT_TRUE(version);
  EXPECT_EQ(version->folder.key, "models/m/3");
  EXPECT_EQ(version->attributes_json, "{}");
  EXPECT_EQ(version->digest, (*read_published(version->folder))->digest);
  ASSERT_EQ(version->files.size(), 3U);
  EXPECT_EQ(version->files[0].name, "saved_model.pb");
  EXPECT_EQ(version->files[0].key, "models/m/3/saved_model.pb");
  EXPECT_EQ(version->files[0].crc32c, crc32c(as_bytes("graph v3")));
  EXPECT_EQ(find_version(source->wanted(), 2), nullptr);
}

TEST_F(SourceOfModel, APollOfANamedModelIsOneRequestWhateverItsHistory) {
  for (std::uint64_t number = 1; number <= 2; ++number) {
    ASSERT_EQ(*take_version(model(), "s3://b/r", concat("d", number)), number);
    publish_version(model(), number, "v");
  }
  Aliases writer(model());
  ASSERT_FALSE(*writer.refresh());
  std::uint64_t written = 0;
  for (const std::uint64_t entries : {1, 100, 1000}) {
    for (; written < entries; ++written) ASSERT_TRUE(writer.point("stable", 1 + written % 2, "r"));
    EXPECT_EQ(calls_of_poll(model()), 1U) << entries;
    EXPECT_EQ(calls_of_poll(model(), {.choice = Choice::kLatest, .latest = 2}), 1U) << entries;
    EXPECT_EQ(calls_of_poll(model(), {.choice = Choice::kAll}), 1U) << entries;
    EXPECT_EQ(calls_of_poll(model(), {.choice = Choice::kNumbers, .numbers = {2}}), 1U) << entries;
  }
}

TEST_F(SourceOfModel, TheManifestOfAVersionIsReadOnce) {
  for (std::uint64_t number = 1; number <= 3; ++number) publish(number);
  const auto metrics = std::make_shared<StoreMetrics>();
  const auto source = open(make_metered(model(), metrics));
  ASSERT_TRUE(point_alias(model(), "stable", 1, "run"));
  ASSERT_TRUE(poll_of(*source));
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(point_alias(model(), "stable", round % 2 == 0 ? 3 : 1, "run"));
    const std::uint64_t before = calls_in(*metrics);
    EXPECT_TRUE(poll_of(*source));
    // Two for the entry, one for the next, which is not there.
    EXPECT_EQ(calls_in(*metrics) - before, 3U);
  }
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1, 3));
}

TEST_F(SourceOfModel, AnAliasOfWhatIsNotPublishedKeepsItsVersion) {
  publish(1);
  publish(2);
  ASSERT_TRUE(point_alias(model(), "stable", 1, "run"));
  const auto source = open(model());
  ASSERT_EQ(*take_version(model(), "s3://b/3", "d3"), 3U);
  ASSERT_TRUE(point_alias(model(), "stable", 3, "run"));
  ASSERT_TRUE(point_alias(model(), "next", 9, "run"));
  EXPECT_FALSE(poll_of(*source));
  EXPECT_FALSE(poll_of(*source));
  EXPECT_THAT(source->wanted().labels, ElementsAre(Pair("latest", 2), Pair("stable", 1)));
  EXPECT_THAT(source->wanted().remarks,
              testing::UnorderedElementsAre("Version 3 of memory://out/models/m is not published yet.",
                                            "Version 9 of memory://out/models/m is not published yet."));
  publish_version(model(), 3, "v3");
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(source->wanted().labels, ElementsAre(Pair("latest", 2), Pair("stable", 3)));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2, 3));
  EXPECT_EQ(source->wanted().remarks.size(), 1U);
}

TEST_F(SourceOfModel, APolicyNamesNumbersOrHowMany) {
  for (std::uint64_t number = 1; number <= 4; ++number) publish(number);
  ASSERT_TRUE(point_alias(model(), "stable", 1, "run"));
  const auto numbers = open(model(), {.choice = Choice::kNumbers, .numbers = {1, 3, 5}});
  EXPECT_THAT(numbers_of(numbers->wanted()), ElementsAre(1, 3));
  EXPECT_THAT(numbers->wanted().labels, ElementsAre(Pair("stable", 1)));
  EXPECT_THAT(numbers->wanted().remarks, ElementsAre(HasSubstr("Version 5")));
  const auto latest = open(model(), {.choice = Choice::kLatest, .latest = 2});
  EXPECT_THAT(numbers_of(latest->wanted()), ElementsAre(3, 4));
  const auto all = open(model(), {.choice = Choice::kAll});
  publish(5);
  EXPECT_TRUE(poll_of(*numbers));
  EXPECT_THAT(numbers_of(numbers->wanted()), ElementsAre(1, 3, 5));
  EXPECT_TRUE(poll_of(*latest));
  EXPECT_THAT(numbers_of(latest->wanted()), ElementsAre(4, 5));
  EXPECT_TRUE(poll_of(*all));
  EXPECT_THAT(numbers_of(all->wanted()), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(all->wanted().labels.at("latest"), 5U);
}

TEST_F(SourceOfModel, NumbersThatWereNeverPublishedAreLookedAtNoMoreThanAFewTimes) {
  publish(1);
  for (std::uint64_t number = 2; number <= 100; ++number)
    ASSERT_EQ(*take_version(model(), "s3://b/r", concat("d", number)), number);
  const auto metrics = std::make_shared<StoreMetrics>();
  const auto latest = open(make_metered(model(), metrics), {.choice = Choice::kLatest});
  const std::uint64_t before = calls_in(*metrics);
  EXPECT_FALSE(poll_of(*latest));
  EXPECT_LE(calls_in(*metrics) - before, 70U);
  EXPECT_EQ(latest->wanted().remarks.size(), 65U);
}

TEST_F(SourceOfModel, MoreVersionsThanCanBeServedAreAnErrorAndNothingChanges) {
  for (std::uint64_t number = 1; number <= kMostWantedVersions; ++number) publish(number);
  const auto all = open(model(), {.choice = Choice::kAll});
  const auto aliases = open(model());
  EXPECT_EQ(all->wanted().versions.size(), kMostWantedVersions);
  publish(kMostWantedVersions + 1);
  for (std::uint64_t number = 1; number <= kMostWantedVersions; ++number)
    ASSERT_TRUE(point_alias(model(), concat("a", number), number, "run"));
  for (int round = 0; round < 2; ++round) {
    for (ModelSource* source : {all.get(), aliases.get()}) {
      const auto polled = source->poll({});
      ASSERT_FALSE(polled);
      EXPECT_EQ(polled.error().code, Code::kResourceExhausted);
      EXPECT_THAT(polled.error().message, HasSubstr("let aliases name fewer, or choose numbers"));
    }
    EXPECT_EQ(all->wanted().versions.size(), kMostWantedVersions);
    EXPECT_THAT(numbers_of(aliases->wanted()), ElementsAre(kMostWantedVersions));
  }
}

TEST_F(SourceOfModel, ADamagedVersionHoldsNoOtherUp) {
  publish(1);
  const auto source = open(model());
  ASSERT_TRUE(write_text(*root.store, "models/m/2/_headrace/manifest-00000001", "damaged"));
  ASSERT_TRUE(write_text(*root.store, "models/m/3/_headrace/manifest-00000001",
                         serialize_manifest({.kind = "dataset"})));
  ASSERT_TRUE(point_alias(model(), "stable", 2, "run"));
  ASSERT_TRUE(point_alias(model(), "data", 3, "run"));
  ASSERT_TRUE(point_alias(model(), "old", 1, "run"));
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(source->wanted().labels, ElementsAre(Pair("latest", 1), Pair("old", 1)));
  EXPECT_EQ(source->wanted().remarks.size(), 2U);
  EXPECT_THAT(source->wanted().remarks, testing::Contains(HasSubstr("Version 2 of")));
}

TEST_F(SourceOfModel, AnErrorOfTheStoreChangesNothingAndLosesNoChange) {
  publish(1);
  const auto store = std::make_shared<RefusingStore>(root.store);
  Location place = model();
  place.store = store;
  const auto source = open(place);
  publish(2);
  for (const char* refused : {"models", "aliases-0000000", "models/m/2/"}) {
    store->text = refused;
    for (int round = 0; round < 2; ++round) {
      const auto polled = source->poll({});
      ASSERT_FALSE(polled) << refused;
      EXPECT_EQ(polled.error().code, Code::kUnavailable);
      EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
    }
  }
  store->text = "nothing";
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2));
}

// ---- runs and exports

TEST_F(SourceOfModel, ARunHasTheVersionThatItsExportPublishes) {
  const Location run = root.at("run");
  const auto begun = Ownership::take(run, {}, {.configuration = {{"stage", "train 2"}}});
  ASSERT_TRUE(begun);
  const auto source = open(run);
  EXPECT_EQ(source->describe(), "the run memory://out/run");
  EXPECT_THAT(source->wanted().versions, IsEmpty());
  EXPECT_THAT(source->wanted().remarks, ElementsAre(HasSubstr("has published no model yet")));
  publish_export(run.at("export"), "one");
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2));
  EXPECT_THAT(source->wanted().labels, ElementsAre(Pair("latest", 2)));
  EXPECT_EQ(find_version(source->wanted(), 2)->files[0].key, "run/export/saved_model.pb");
  EXPECT_EQ(calls_of_poll(run), 1U);
  publish_export(run.at("export"), "two", OwnershipAction::kOverwrite);
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(4));
  EXPECT_EQ(find_version(source->wanted(), 4)->files[0].name, "saved_model.pb");
  EXPECT_EQ(find_version(source->wanted(), 4)->files[0].key, "run/export/o3/saved_model.pb");
  // Numbers of what was superseded are gone, so those that follow are not the next.
  publish_export(run.at("export"), "three", OwnershipAction::kOverwrite);
  for (std::uint64_t number = 1; number <= 5; ++number)
    ASSERT_TRUE(remove_object(*root.store, numbered_key("run/export/_headrace/manifest-", number)));
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(6));
  EXPECT_EQ(calls_of_poll(run), 1U);
}

TEST_F(SourceOfModel, WhatARunHasPublishedStaysUntilItsNextOwnerPublishes) {
  const Location exported = root.at("run/export");
  publish_export(exported, "one");
  const auto source = open(root.at("run"));
  ASSERT_TRUE(Ownership::take(exported, *read_chain(exported), {.action = OwnershipAction::kOverwrite}));
  EXPECT_FALSE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2));
  ASSERT_TRUE(Ownership::take(exported, *read_chain(exported), {.action = OwnershipAction::kRemove}));
  EXPECT_FALSE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2));
  EXPECT_THAT(source->wanted().remarks, ElementsAre(HasSubstr("was removed")));
}

TEST_F(SourceOfModel, APollWhileARunIsOverwrittenIsOneRequest) {
  const Location exported = root.at("run/export");
  publish_export(exported, "one");
  ASSERT_TRUE(Ownership::take(exported, *read_chain(exported), {.action = OwnershipAction::kOverwrite}));
  EXPECT_EQ(calls_of_poll(root.at("run")), 1U);
}

TEST_F(SourceOfModel, AnExportIsFoundUnderItsOwnName) {
  const Location exported = root.at("run/export");
  ASSERT_TRUE(Ownership::take(exported, {}, {.output_entry = 1}));
  const auto early = open(exported);
  EXPECT_THAT(early->wanted().versions, IsEmpty());
  publish_export(exported, "one", OwnershipAction::kTakeOver);
  EXPECT_TRUE(poll_of(*early));
  EXPECT_THAT(numbers_of(early->wanted()), ElementsAre(3));
  EXPECT_EQ(early->describe(), "the export memory://out/run/export");
  publish(1);
  const auto copy = open(version_folder(model(), 1));
  EXPECT_THAT(numbers_of(copy->wanted()), ElementsAre(1));
  EXPECT_EQ(calls_of_poll(exported), 1U);
  const auto other = open(exported, {.choice = Choice::kNumbers, .numbers = {7}});
  EXPECT_THAT(other->wanted().versions, IsEmpty());
  EXPECT_THAT(other->wanted().remarks, ElementsAre(HasSubstr("has version 3 only")));
}

TEST_F(SourceOfModel, ADamagedChainIsAnErrorAndWhatWasWantedStays) {
  publish_export(root.at("run/export"), "one");
  const auto source = open(root.at("run"));
  ASSERT_TRUE(write_text(*root.store, "run/export/_headrace/manifest-00000003", "damaged"));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(source->poll({}).error().code, Code::kDataLoss);
    EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2));
  }
}

TEST_F(SourceOfModel, WhatHoldsSomethingElseIsRefused) {
  ASSERT_TRUE(Ownership(root.at("data"), 0, 0, 0).publish({.kind = "dataset"}));
  EXPECT_EQ(open_model_source(root.at("data"), {}).error().code, Code::kInvalidArgument);
  ASSERT_TRUE(Ownership::take(root.at("begun"), {}, {.configuration = {{"stage", "prepare 3"}}}));
  EXPECT_EQ(open_model_source(root.at("begun"), {}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(open_model_source(root, {.choice = Choice::kNumbers}).error().code, Code::kInvalidArgument);
}

TEST_F(SourceOfModel, AServerMayStartBeforeItsModelIsThere) {
  const auto named = open(model());
  const auto run = open(root.at("run"));
  const auto folder = open(root.at("folder"));
  for (ModelSource* source : {named.get(), run.get(), folder.get()}) {
    EXPECT_THAT(source->wanted().versions, IsEmpty());
    EXPECT_THAT(source->wanted().remarks, ElementsAre(HasSubstr("There is no model in")));
    EXPECT_FALSE(poll_of(*source));
  }
  publish(1);
  publish_export(root.at("run/export"), "one");
  write_files(root.at("folder"), model_files("one"));
  EXPECT_TRUE(poll_of(*named));
  EXPECT_TRUE(poll_of(*run));
  EXPECT_FALSE(poll_of(*folder));
  EXPECT_TRUE(poll_of(*folder));
}

// The wanted versions follow from the aliases and from what is published, as they are at the time of a poll.
class WantedByRule {
 public:
  void poll(const std::map<std::string, std::uint64_t>& aliases, const std::set<std::uint64_t>& published) {
    for (const auto& [alias, number] : aliases) {
      if (published.contains(number)) labels[alias] = number;
    }
  }
  std::set<std::uint64_t> numbers() const {
    std::set<std::uint64_t> all;
    for (const auto& [alias, number] : labels) all.insert(number);
    return all;
  }
  std::map<std::string, std::uint64_t, std::less<>> labels;
};

TEST_F(SourceOfModel, AfterAnyHistoryWhatIsWantedIsWhatTheAliasesLastNamed) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    root.store = std::shared_ptr<Store>(make_memory_store("out"));
    for (std::uint64_t number = 1; number <= 8; ++number)
      ASSERT_EQ(*take_version(model(), "s3://b/r", concat("d", number)), number);
    const auto store = std::make_shared<RefusingStore>(root.store);
    Location place = model();
    place.store = store;
    const auto source = open(place);
    std::map<std::string, std::uint64_t> aliases;
    std::set<std::uint64_t> published;
    WantedByRule rule;
    for (int step = 0; step < 120; ++step) {
      const std::uint64_t number = 1 + random() % 8;
      switch (random() % 4) {
        case 0:
          if (published.insert(number).second) publish_version(model(), number, concat("v", number));
          break;
        case 1: {
          const std::string alias(1, static_cast<char>('a' + random() % 4));
          ASSERT_TRUE(point_alias(model(), alias, number, "run"));
          aliases[alias] = number;
          break;
        }
        case 2:
          store->text = concat("models/m/", number, "/");
          if (source->poll({})) rule.poll(aliases, published);
          store->text = "nothing";
          break;
        default:
          rule.poll(aliases, published);
          ASSERT_TRUE(source->poll({}));
          const auto numbers = numbers_of(source->wanted());
          EXPECT_EQ(std::set<std::uint64_t>(numbers.begin(), numbers.end()), rule.numbers()) << seed;
          EXPECT_EQ(source->wanted().labels, rule.labels) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace headrace

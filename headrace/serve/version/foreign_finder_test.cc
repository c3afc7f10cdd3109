#include <algorithm>
#include <random>
#include <set>

#include "headrace/base/environment.h"
#include "headrace/serve/version/published_models_test.h"
#include "headrace/store/file/file_store.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Choice = VersionPolicy::Choice;

// Lists what no store would take, or more than anybody has.
class ListingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    bool goes_on = true;
    HEADRACE_CHECK(inner().list(prefix, options, [&](const ObjectInfo& object) {
      goes_on = visit(object);
      return goes_on;
    }));
    for (std::size_t i = 0; goes_on && i < count; ++i) {
      const std::string key = concat(begin, i, end);
      const bool is_deeper = key.find('/', prefix.size()) < key.size() - 1;
      if (key.starts_with(prefix) && !(options.collapse_folders && is_deeper))
        goes_on = visit({.key = key, .size_bytes = 1, .version = {"1"}});
    }
    return {};
  }
  std::size_t count = 0;
  std::string begin;
  std::string end;
};

class ForeignModels : public testing::Test {
 protected:
  ForeignModels() { root.store = std::shared_ptr<Store>(make_memory_store("out")); }

  Location folder(const std::string& name) const { return root.at("tf").at(name); }
  void write(const std::string& name, const std::string& text) {
    write_files(folder(name), model_files(text));
  }
  void remove(const std::string& key) { ASSERT_TRUE(remove_object(*root.store, "tf/" + key)); }
  void remove_model(const std::string& name) {
    for (const auto& [file, text] : model_files("")) remove(name + "/" + file);
  }

  std::unique_ptr<ModelSource> open(const Location& place, const VersionPolicy& policy = {}) {
    auto source = open_model_source(place, policy);
    EXPECT_TRUE(source) << source.error().message;
    return source ? *std::move(source) : nullptr;
  }
  std::unique_ptr<ModelSource> open_numbered(const VersionPolicy& policy = {}) {
    return open(root.at("tf"), policy);
  }
  // Polls until nothing changes for longer than any folder has to wait.
  static void settle(ModelSource& source) {
    for (int i = 0; i < 6; ++i) poll_of(source);
  }

  Location root;
};

TEST_F(ForeignModels, AFolderCountsOnceTwoListingsAgree) {
  write("5", "five");
  const auto source = open_numbered();
  EXPECT_EQ(source->describe(), "the numbered SavedModels in memory://out/tf");
  EXPECT_THAT(source->wanted().versions, IsEmpty());
  EXPECT_THAT(source->wanted().remarks, ElementsAre(HasSubstr("may still be being uploaded")));
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(5));
  EXPECT_THAT(source->wanted().labels, ElementsAre(Pair("latest", 5)));
  EXPECT_THAT(source->wanted().remarks, IsEmpty());
  const auto version = find_version(source->wanted(), 5);
  EXPECT_FALSE(version->attributes_json);
  ASSERT_EQ(version->files.size(), 3U);
  EXPECT_EQ(version->files[0].key, "tf/5/saved_model.pb");
  EXPECT_FALSE(version->files[0].crc32c);
  EXPECT_TRUE(version->files[0].version);
  EXPECT_FALSE(poll_of(*source));
}

TEST_F(ForeignModels, AHalfUploadedFolderNeverCountsInWhateverOrderItsFilesCome) {
  const TestFiles files = {{"saved_model.pb", "g"},
                           {"variables/variables.index", "i"},
                           {"variables/variables.data-00000-of-00002", "d"},
                           {"variables/variables.data-00001-of-00002", "e"}};
  std::vector<std::string> names;
  for (const auto& [name, text] : files) names.push_back(name);
  do {
    root.store = std::shared_ptr<Store>(make_memory_store("out"));
    write("1", "one");
    const auto source = open_numbered();
    settle(*source);
    for (const std::string& name : names) {
      EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1)) << name;
      write_files(folder("2"), {{name, files.at(name)}});
      for (int i = 0; i < 3; ++i) poll_of(*source);
    }
    EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2));
  } while (std::ranges::next_permutation(names).found);
}

TEST_F(ForeignModels, AFolderWithoutVariablesWaitsLonger) {
  write_files(folder("3"), {{"saved_model.pb", "g"}});
  const auto source = open_numbered();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(poll_of(*source));
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(3));
}

TEST_F(ForeignModels, APolicyChoosesAmongNumberedFolders) {
  for (const char* name : {"1", "02", "10", "9", "tmp", "7b", "-4"}) write(name, name);
  write_files(root.at("tf"), {{"README", "x"}, {"11", "a file"}});
  const auto latest = open_numbered();
  const auto two = open_numbered({.choice = Choice::kLatest, .latest = 2});
  const auto all = open_numbered({.choice = Choice::kAll});
  const auto numbers = open_numbered({.choice = Choice::kNumbers, .numbers = {2, 9, 4}});
  for (ModelSource* source : {latest.get(), two.get(), all.get(), numbers.get()}) settle(*source);
  EXPECT_THAT(numbers_of(latest->wanted()), ElementsAre(10));
  EXPECT_THAT(numbers_of(two->wanted()), ElementsAre(9, 10));
  EXPECT_THAT(numbers_of(all->wanted()), ElementsAre(1, 2, 9, 10));
  EXPECT_THAT(numbers_of(numbers->wanted()), ElementsAre(2, 9));
  EXPECT_EQ(find_version(all->wanted(), 2)->files[0].key, "tf/02/saved_model.pb");
}

TEST_F(ForeignModels, AFolderThatGoesGivesWayToTheOneBeforeAndTheLastStays) {
  write("1", "one");
  write("2", "two");
  const auto source = open_numbered();
  settle(*source);
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2));
  remove("2/variables/variables.index");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(poll_of(*source)) << "it may be being replaced";
  remove_model("2");
  settle(*source);
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
  remove_model("1");
  EXPECT_FALSE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
  EXPECT_THAT(source->wanted().remarks, ElementsAre(HasSubstr("the previous versions stay in service")));
}

TEST_F(ForeignModels, OneSavedModelIsVersionOneAndIsReplacedInItsPlace) {
  write("m", "one");
  write_files(folder("m"), {{"evaluations/e.json", "{}"}, {"notes.txt", "x"}});
  const auto source = open(folder("m"));
  EXPECT_EQ(source->describe(), "the SavedModel memory://out/tf/m");
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
  const std::string before = find_version(source->wanted(), 1)->digest;
  EXPECT_EQ(find_version(source->wanted(), 1)->files.size(), 3U);
  write_files(folder("m"), {{"notes.txt", "y"}});
  EXPECT_FALSE(poll_of(*source)) << "it does not belong to the model";
  write("m", "two");
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(poll_of(*source));
  EXPECT_TRUE(poll_of(*source));
  EXPECT_NE(find_version(source->wanted(), 1)->digest, before);
  remove_model("m");
  settle(*source);
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
  EXPECT_THAT(source->wanted().remarks, testing::Contains(HasSubstr("previous version stays")));
  const auto other = open(folder("m"), {.choice = Choice::kNumbers, .numbers = {2}});
  EXPECT_THAT(other->wanted().versions, IsEmpty());
}

TEST_F(ForeignModels, ARunningPollListsWhatItNeeds) {
  write("m", "one");
  for (const char* name : {"1", "2", "3", "4"}) write(name, name);
  const auto metrics = std::make_shared<StoreMetrics>();
  const auto calls_of = [&](const Location& place, const VersionPolicy& policy) {
    const auto source = open(make_metered(place, metrics), policy);
    settle(*source);
    const std::uint64_t before = calls_in(*metrics);
    EXPECT_FALSE(poll_of(*source));
    return calls_in(*metrics) - before;
  };
  EXPECT_EQ(calls_of(folder("m"), {}), 1U);
  EXPECT_EQ(calls_of(root.at("tf"), {}), 2U);
  EXPECT_EQ(calls_of(root.at("tf"), {.choice = Choice::kAll}), 5U);
}

TEST_F(ForeignModels, NamesThatLeadOutOfTheFolderAreRefused) {
  write("1", "one");
  write("2", "two");
  const auto store = std::make_shared<ListingStore>(root.store);
  Location place = root.at("tf");
  place.store = store;
  store->count = 1;
  for (const char* end : {"/../../../x", "//x", "/./x"}) {
    store->begin = "tf/2/variables/";
    store->end = end;
    const auto source = open(place);
    settle(*source);
    EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1)) << end;
    EXPECT_THAT(source->wanted().remarks,
                ElementsAre(HasSubstr("version 2 in memory://out/tf/2 cannot be served")));
  }
}

TEST_F(ForeignModels, ListingsAreBounded) {
  write("1", "one");
  const auto store = std::make_shared<ListingStore>(root.store);
  Location place = root.at("tf");
  place.store = store;
  const auto source = open(place);
  settle(*source);
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
  const auto expect_refused = [&](std::size_t count, const std::string& begin, const std::string& end) {
    store->count = count;
    store->begin = begin;
    store->end = end;
    const auto polled = source->poll({});
    ASSERT_FALSE(polled) << begin;
    EXPECT_EQ(polled.error().code, Code::kResourceExhausted);
    EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
  };
  expect_refused(1'001, "tf/", "/");
  expect_refused(100'001, "tf/x", "");
  store->begin = "tf/1/assets/";
  store->end = "";
  store->count = 100'001;
  EXPECT_FALSE(poll_of(*source));
  EXPECT_THAT(source->wanted().remarks, ElementsAre(HasSubstr("more than 100000 objects")));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
  store->count = 0;
  EXPECT_FALSE(poll_of(*source));
  for (int number = 2; number <= 33; ++number) write(std::to_string(number), "x");
  const auto all = open(place, {.choice = Choice::kAll});
  const auto polled = all->poll({});
  ASSERT_FALSE(polled);
  EXPECT_EQ(polled.error().code, Code::kResourceExhausted);
}

TEST_F(ForeignModels, CopiesOfExportsInNumberedFoldersCountAtOnce) {
  write("1", "one");
  publish_version(root.at("tf"), 2, "two");
  const auto source = open_numbered();
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2));
  EXPECT_TRUE(find_version(source->wanted(), 2)->attributes_json);
  EXPECT_FALSE(poll_of(*source));
}

TEST_F(ForeignModels, AFolderThatHeadraceThenPublishesCountsByItsManifest) {
  write("1", "one");
  const auto source = open_numbered();
  EXPECT_TRUE(poll_of(*source));
  EXPECT_FALSE(find_version(source->wanted(), 1)->attributes_json);
  ASSERT_TRUE(Ownership(folder("1"), 0, 0, 0).publish(manifest_naming(model_files("one"))));
  EXPECT_TRUE(poll_of(*source));
  EXPECT_TRUE(find_version(source->wanted(), 1)->attributes_json);
}

TEST_F(ForeignModels, FoldersThatAreNeverCompleteAreLookedAtNoMoreThanAFewTimes) {
  for (int number = 2; number <= 100; ++number)
    write_files(folder(std::to_string(number)), {{"saved_model.pb", "g"}, {"variables/x", "y"}});
  const auto metrics = std::make_shared<StoreMetrics>();
  const auto source = open(make_metered(root.at("tf"), metrics));
  settle(*source);
  const std::uint64_t before = calls_in(*metrics);
  EXPECT_FALSE(poll_of(*source));
  EXPECT_EQ(calls_in(*metrics) - before, 18U);
  EXPECT_THAT(source->wanted().remarks, testing::Contains(HasSubstr("lacks files in variables/")));
}

TEST_F(ForeignModels, AFolderThatBecomesANamedModelIsFollowedAsOne) {
  write("1", "one");
  const auto source = open_numbered();
  settle(*source);
  publish_version(root.at("tf"), 3, "three");
  ASSERT_TRUE(
      write_text(*root.store, "tf/_headrace/version-00000003", R"({"run":"r","manifest_digest":"d"})"));
  EXPECT_FALSE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
  ASSERT_TRUE(advance_latest(root.at("tf"), 3, "run"));
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(3));
  EXPECT_EQ(source->describe(), "the named model memory://out/tf");
}

TEST_F(ForeignModels, OtherObjectsOfHeadraceAreNoHindrance) {
  write("1", "one");
  write_files(root.at("tf"), {{"_headrace/lineage", "x"}});
  const auto source = open_numbered();
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(1));
}

TEST_F(ForeignModels, FilesOfThisMachineAreFollowedToo) {
  const std::string path =
      (std::filesystem::temp_directory_path() / concat("foreign-", hex64(random_name_bits()))).string();
  root.store = std::shared_ptr<Store>(make_file_store(path));
  write("1", "one");
  const auto source = open_numbered();
  EXPECT_TRUE(poll_of(*source));
  write("2", "two");
  EXPECT_FALSE(poll_of(*source));
  EXPECT_TRUE(poll_of(*source));
  EXPECT_THAT(numbers_of(source->wanted()), ElementsAre(2));
  std::filesystem::remove_all(path);
}

// Uploads under new numbers, a file at a time and in any order, removals, and polls.
TEST_F(ForeignModels, AfterAnyHistoryEachWantedVersionWasOnceComplete) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    root.store = std::shared_ptr<Store>(make_memory_store("out"));
    const auto source =
        open_numbered({.choice = seed % 2 == 0 ? Choice::kAll : Choice::kLatest, .latest = 1 + seed % 3});
    std::set<std::uint64_t> complete, present;
    std::uint64_t next = 0;
    std::vector<std::pair<std::string, std::string>> to_upload;
    const auto upload = [&] {
      if (to_upload.empty()) {
        const TestFiles files = model_files(concat("v", ++next));
        to_upload.assign(files.begin(), files.end());
        std::ranges::shuffle(to_upload, random);
        // Without its graph's variables, a folder is complete for all that can be seen.
        const auto graph =
            std::ranges::find(to_upload, "saved_model.pb", [](const auto& of) { return of.first; });
        if (graph == to_upload.end() - 1) std::iter_swap(graph, to_upload.begin());
      }
      write_files(folder(std::to_string(next)), {to_upload.back()});
      to_upload.pop_back();
      if (to_upload.empty()) complete.insert(next), present.insert(next);
    };
    for (int step = 0; step < 150; ++step) {
      if (random() % 3 == 0) upload();
      if (random() % 20 == 0 && !present.empty()) {
        const auto removed = std::next(present.begin(), static_cast<int>(random() % present.size()));
        remove_model(std::to_string(*removed));
        present.erase(removed);
      }
      poll_of(*source);
      for (const auto& version : source->wanted().versions) {
        EXPECT_TRUE(complete.contains(version->number)) << seed << " " << version->number;
        EXPECT_EQ(version->files.size(), 3U);
      }
    }
    while (!to_upload.empty()) upload();
    settle(*source);
    if (present.empty()) continue;
    const auto numbers = numbers_of(source->wanted());
    EXPECT_EQ(numbers.back(), *present.rbegin()) << seed;
    const bool wants_all = seed % 2 == 0;
    EXPECT_TRUE(!wants_all || std::set(numbers.begin(), numbers.end()) == present) << seed;
  }
}

}  // namespace
}  // namespace headrace

#include "headrace/track/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"
#include "headrace/track/lineage.h"
#include "headrace/track/recorder.h"
#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CatalogTest : public testing::Test {
 protected:
  static CatalogEntry entry(std::string run, int second = 1, std::uint64_t rank = 0) {
    const std::chrono::system_clock::time_point time(std::chrono::seconds(1'795'231'560 + second));
    return {"train", make_part_name(rank, time, 7), std::move(run)};
  }
  void add(CatalogIndex index, std::string_view url, const CatalogEntry& what) {
    ASSERT_TRUE(add_to_catalog(root, index, url, what));
  }
  std::set<std::string> near(std::string_view url, CatalogIndex index = CatalogIndex::kOutput) {
    auto found = runs_near(root, index, url);
    EXPECT_TRUE(found);
    return found ? *found : std::set<std::string>();
  }

  StoreRegistry stores{Environment{}};
  Location root = *stores.open("memory://b/project");
};

TEST_F(CatalogTest, FindsRunsOfAUrlBelowItAndAboveIt) {
  add(CatalogIndex::kOutput, "s3://b/runs", entry("above"));
  add(CatalogIndex::kOutput, "s3://b/runs/1", entry("at"));
  add(CatalogIndex::kOutput, "s3://b/runs/1/export/x", entry("below"));
  add(CatalogIndex::kOutput, "s3://b/runs/10", entry("beside"));
  add(CatalogIndex::kOutput, "s3://b/runs/2/1", entry("cousin"));
  add(CatalogIndex::kInput, "s3://b/runs/1", entry("reader"));
  EXPECT_THAT(near("s3://b/runs/1"), ElementsAre("above", "at", "below"));
  EXPECT_THAT(near("s3://b/runs/1", CatalogIndex::kInput), ElementsAre("reader"));
  EXPECT_THAT(near("s3://c/runs/1"), IsEmpty());
  EXPECT_THAT(near("s3://b"), ElementsAre("above", "at", "below", "beside", "cousin"));
}

TEST_F(CatalogTest, FindsRunsOfFilesAndOfUrlsLongerThanAKey) {
  add(CatalogIndex::kOutput, "file:///data/a", entry("file"));
  EXPECT_THAT(near("file:///data/a/b"), ElementsAre("file"));
  std::string folder = "s3://b";
  for (int i = 0; i < 10; ++i) folder += concat("/", std::string(90, static_cast<char>('a' + i)));
  add(CatalogIndex::kOutput, folder, entry("long"));
  EXPECT_THAT(near(folder), testing::Contains("long"));
  EXPECT_THAT(near(parent_key(folder)), testing::Contains("long"));
  EXPECT_THAT(near(folder + "/object"), testing::Contains("long"));
}

TEST_F(CatalogTest, AUrlThatNoKeyCanHoldLeadsNowhere) {
  add(CatalogIndex::kOutput, "file:///data/a", entry("file"));
  for (const std::string& url : {std::string(450, 'a') + "://x", std::string("file:///../../../../.."),
                                 std::string("s3://b/\xff"), std::string("s3://b/../c")}) {
    EXPECT_THAT(near(url), IsEmpty()) << url;
    EXPECT_FALSE(add_to_catalog(root, CatalogIndex::kOutput, url, entry("mine"))) << url;
  }
  for (const char* digest : {"..", "a/b", ""}) EXPECT_THAT(*runs_that_published(root, digest), IsEmpty());
}

TEST_F(CatalogTest, NewestEntriesAreOfACommandAndARank) {
  for (int second : {1, 3, 2})
    add(CatalogIndex::kOutput, "s3://b/runs/1", entry(concat("run-", second), second));
  add(CatalogIndex::kOutput, "s3://b/runs/1", entry("sibling", 9, 1));
  add(CatalogIndex::kOutput, "s3://b/runs/1/x", entry("below", 9));
  const auto found = newest_entries(root, "s3://b/runs/1", "train", 0, 2);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->at(0).run, "run-3");
  EXPECT_EQ(found->at(1).run, "run-2");
  EXPECT_THAT(*newest_entries(root, "s3://b/runs/1", "prepare", 0, 2), IsEmpty());
}

TEST_F(CatalogTest, ADigestFindsWhoPublishedIt) {
  const Artifact artifact = {.url = "s3://b/data", .kind = "dataset", .digest = std::string(64, 'a')};
  ASSERT_TRUE(add_to_catalog(root, CatalogIndex::kOutput, artifact, entry("maker")));
  ASSERT_TRUE(add_to_catalog(root, CatalogIndex::kOutput, artifact, entry("maker"))) << "again is as good";
  EXPECT_THAT(*runs_that_published(root, artifact.digest), ElementsAre("maker"));
  EXPECT_THAT(*runs_that_published(root, std::string(64, 'b')), IsEmpty());
}

TEST_F(CatalogTest, HoldsNoSecretOfAUrl) {
  add(CatalogIndex::kInput, "s3://b/data?token=hunter2", entry("reader"));
  const auto objects = list_all(*root.store, "");
  for (const ObjectInfo& object : *objects)
    EXPECT_THAT(object.key, testing::Not(testing::HasSubstr("hunter2")));
  EXPECT_THAT(near("s3://b/data?token=hunter2", CatalogIndex::kInput), ElementsAre("reader"));
}

TEST_F(CatalogTest, IsMadeAnewFromTheRecords) {
  const Location data = *stores.open("memory://b/project/data");
  ASSERT_TRUE(write_text(*data.store, data.at("x").key, "x"));
  auto recorder = RunRecorder::start(stores, *stores.open("memory://b/project/runs/1"), {.command = "train"},
                                     {.root_url = "memory://b/project", .now = Environment{}.now});
  ASSERT_TRUE(recorder);
  ASSERT_TRUE(recorder->add_input("data", data));
  ASSERT_TRUE(recorder->add_output("export", data));
  const auto entries = [&] {
    std::vector<std::string> keys;
    const auto objects = list_all(*root.store, root.at(kCatalogPrefix).key);
    for (const ObjectInfo& object : *objects) keys.push_back(object.key);
    return keys;
  };
  const std::vector<std::string> before = entries();
  EXPECT_EQ(before.size(), 3U);
  EXPECT_EQ(*repair_catalog(root), 0U);
  ASSERT_TRUE(root.store->remove_many(before, {}));
  EXPECT_FALSE(*has_catalog(root));
  EXPECT_EQ(*repair_catalog(root), 3U);
  EXPECT_EQ(entries(), before);
  ASSERT_TRUE(recorder->finish({}, {}));
  EXPECT_EQ(*repair_catalog(root), 0U);
}

TEST_F(CatalogTest, ACatalogThatWasLostLosesNoRun) {
  auto recorder = RunRecorder::start(stores, *stores.open("memory://b/project/runs/1"), {.command = "train"},
                                     {.root_url = "memory://b/project", .now = Environment{}.now});
  ASSERT_TRUE(recorder);
  std::vector<std::string> keys;
  const auto objects = list_all(*root.store, root.at(kCatalogPrefix).key);
  for (const ObjectInfo& object : *objects) keys.push_back(object.key);
  ASSERT_TRUE(root.store->remove_many(keys, {}));
  RunPool runs(stores);
  ASSERT_TRUE(runs.add(root));
  EXPECT_EQ(lineage_of("memory://b/project/runs/1", runs)->upstream.steps.size(), 1U);
  ASSERT_EQ(runs.remarks().size(), 1U);
  EXPECT_THAT(runs.remarks()[0], testing::HasSubstr("headrace runs repair memory://b/project"));
}

TEST_F(CatalogTest, AnEntryWithoutItsRecordIsPassedOver) {
  add(CatalogIndex::kOutput, "memory://b/project/runs/1", entry("killed-between-the-two"));
  RunPool runs(stores);
  ASSERT_TRUE(runs.add(root));
  EXPECT_TRUE(lineage_of("memory://b/project/runs/1", runs)->upstream.steps.empty());
  EXPECT_THAT(runs.remarks(), IsEmpty());
}

}  // namespace
}  // namespace headrace

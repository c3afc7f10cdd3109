#include "headrace/track/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/record/manifest.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/numbered.h"
#include "headrace/store/registry.h"
#include "headrace/track/run_keys.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

class Recorder : public testing::Test {
 protected:
  Location at(std::string_view url) { return *stores.open(url); }
  void write(std::string_view url, std::string_view text) {
    const Location object = at(url);
    ASSERT_TRUE(write_text(*object.store, object.key, text));
  }
  Result<RunRecorder> start(std::string_view output, std::string command = "train") {
    now += std::chrono::seconds(1);
    return RunRecorder::start(stores, at(output), {.command = std::move(command)},
                              {.now = [this] { return now; }});
  }

  StoreRegistry stores{Environment{}};
  // 2026-11-21T03:26:00.125Z
  std::chrono::system_clock::time_point now{std::chrono::milliseconds(1795231560125)};
};

TEST_F(Recorder, WritesAStartAndAnEndThatCanBeRead) {
  write("memory://b/raw.tar", "raw");
  write("memory://b/runs/1/weights", "w");
  auto recorder = start("memory://b/runs/1");
  ASSERT_TRUE(recorder) << recorder.error().message;
  EXPECT_THAT(recorder->run_id(), testing::StartsWith("20261121-032601-"));
  ASSERT_TRUE(recorder->add_input("raw", at("memory://b/raw.tar")));
  ASSERT_TRUE(recorder->add_output("run", at("memory://b/runs/1")));
  now += std::chrono::milliseconds(2500);
  ASSERT_TRUE(recorder->finish({}, {.metrics = {{"loss", 0.5}}}));

  const auto run = read_run(at("memory://b"), recorder->run_id());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->status(), RunStatus::kFinished);
  EXPECT_EQ(run->start.output, "memory://b/runs/1");
  EXPECT_EQ(run->start.started, "2026-11-21T03:26:01.125Z");
  EXPECT_EQ(run->end->seconds, 2.5);
  ASSERT_EQ(run->inputs().size(), 1U);
  EXPECT_EQ(run->inputs()[0].kind, "object");
  EXPECT_EQ(run->inputs()[0].size_bytes, 3U);
  EXPECT_EQ(run->outputs()[0].kind, "folder");
}

TEST_F(Recorder, RecordsFailureAndStopAndReturnsTheOutcome) {
  auto failed = start("memory://b/runs/1");
  const Status outcome = failed->finish(Error{Code::kDataLoss, "shard 7 is damaged"}, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "shard 7 is damaged");
  const auto run = read_run(at("memory://b"), failed->run_id());
  EXPECT_EQ(run->status(), RunStatus::kFailed);
  EXPECT_EQ(run->end->error, "shard 7 is damaged");

  auto stopped = start("memory://b/runs/2");
  EXPECT_FALSE(stopped->finish(Error{Code::kCancelled, "stopped"}, {}));
  EXPECT_EQ(read_run(at("memory://b"), stopped->run_id())->status(), RunStatus::kStopped);
}

TEST_F(Recorder, NamesTheUnfinishedRunThatItResumes) {
  const std::string killed = start("memory://b/runs/1")->run_id();
  const std::string other_output = start("memory://b/runs/2")->run_id();
  auto resumed = start("memory://b/runs/1");
  const auto resumed_from = [this](const Result<RunRecorder>& recorder) {
    return read_run(at("memory://b"), recorder->run_id())->start.resumed_from;
  };
  EXPECT_EQ(resumed_from(resumed), killed);
  ASSERT_TRUE(resumed->finish({}, {}));
  EXPECT_EQ(resumed_from(start("memory://b/runs/1")), "");
  EXPECT_EQ(resumed_from(start("memory://b/runs/2", "prepare")), "");
}

TEST_F(Recorder, ANewRunIsShownAsRunningOrKilled) {
  const auto recorder = start("memory://b/runs/1");
  const auto runs = list_runs(at("memory://b"), 10);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->runs.size(), 1U);
  EXPECT_EQ(run_status_name(runs->runs[0].status()), "running or killed");
}

TEST_F(Recorder, DamageInOneRecordHidesNoOther) {
  const std::string good = start("memory://b/runs/1")->run_id();
  write("memory://b/_headrace/runs/20200101-000000-00000000/start", "{}");
  const auto list = list_runs(at("memory://b"), 10);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->runs.size(), 1U);
  EXPECT_EQ(list->runs[0].id, good);
  ASSERT_EQ(list->damaged.size(), 1U);
  EXPECT_THAT(list->damaged[0], testing::HasSubstr("20200101-000000-00000000"));
}

TEST_F(Recorder, ListsTheNewestRunsInTheOrderOfTime) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(start("memory://b/runs/1")->run_id());
  const auto list = list_runs(at("memory://b"), 2);
  ASSERT_EQ(list->runs.size(), 2U);
  EXPECT_EQ(list->runs[0].id, ids[3]);
  EXPECT_EQ(list->runs[1].id, ids[4]);
}

TEST_F(Recorder, ARunIsFoundByItsIdOrTheBeginningOfItWithoutReadingOthers) {
  const std::string one = start("memory://b/runs/1")->run_id();
  const std::string other = start("memory://b/runs/1")->run_id();
  write("memory://b/_headrace/runs/20200101-000000-00000000/start", "{}");  // it cannot be read
  write("memory://b/_headrace/runs/20200101-000000-00000000x/start", "{}");
  const auto found = [&](const std::string& id) { return *find_runs(at("memory://b"), id); };
  ASSERT_EQ(found(one).runs.size(), 1U);
  EXPECT_EQ(found(one).runs[0].id, one);
  EXPECT_TRUE(found(one).damaged.empty());
  EXPECT_EQ(found(one.substr(0, 4)).runs.size(), 2U);
  EXPECT_EQ(found("20200101-000000-0000000").damaged.size(), 2U);
  EXPECT_EQ(found("20200101-000000-00000000").damaged.size(), 1U);
  for (const char* none : {"1999", "", "..", "a/b", "/"}) EXPECT_TRUE(found(none).runs.empty()) << none;
}

TEST_F(Recorder, ReadingAnUnknownRunSaysSo) {
  EXPECT_EQ(read_run(at("memory://b"), "20200101-000000-00000000").error().code, Code::kNotFound);
}

TEST_F(Recorder, TheTrackingRootIsTheNearestFolderWithRunsElseTheStoresRoot) {
  EXPECT_EQ(tracking_root(at("memory://b/projects/x/runs/1"))->url.text(), "memory://b");
  write("memory://b/projects/_headrace/runs/20200101-000000-00000000/start", "{}");
  EXPECT_EQ(tracking_root(at("memory://b/projects/x/runs/1"))->url.text(), "memory://b/projects");
  EXPECT_EQ(tracking_root(at("memory://b/projects"))->url.text(), "memory://b");
  EXPECT_EQ(tracking_root(at("memory://b/projects2/x"))->url.text(), "memory://b");
}

TEST_F(Recorder, TrackingRootsAreFoundAtAndBelowAFolder) {
  for (const char* root : {"", "/projects", "/projects/a/b", "/projects2"}) {
    for (const char* object : {"catalog/output/-/x", "v2/mine/part/end", "v2/mine/part/start"})
      write(concat("memory://b", root, "/_headrace/runs/", object), "{}");
  }
  write("memory://b/projects/c_headrace/runs/v2/mine/part/start", "{}");
  write("memory://b/projects/d/_headrace/manifest-00000001", "{}");
  const auto roots_below = [&](std::string_view url) {
    const auto roots = tracking_roots_below(at(url));
    EXPECT_TRUE(roots);
    std::vector<std::string> urls;
    for (const Location& root : *roots) urls.push_back(root.url.text());
    return urls;
  };
  EXPECT_THAT(roots_below("memory://b"),
              testing::ElementsAre("memory://b", "memory://b/projects", "memory://b/projects/a/b",
                                   "memory://b/projects2"));
  EXPECT_THAT(roots_below("memory://b/projects"),
              testing::ElementsAre("memory://b/projects", "memory://b/projects/a/b"));
  EXPECT_THAT(roots_below("memory://b/projects/a"), testing::ElementsAre("memory://b/projects/a/b"));
  EXPECT_THAT(roots_below("memory://b/projects/d"), testing::IsEmpty());
}

TEST_F(Recorder, TrackingRootsBehindManyRecordsAreFound) {
  for (const char* root : {"", "/a", "/b"}) {
    for (int i = 0; i < 2500; ++i)
      write(concat("memory://b", root, "/_headrace/runs/v2/run-", i, "/part/start"), "{}");
  }
  write("memory://b/_headrace/runs_of_others/x", "{}");
  write("memory://b/a/_headrace/runs/v3/_headrace/runs/x", "{}");
  const auto roots = tracking_roots_below(at("memory://b"));
  ASSERT_TRUE(roots);
  std::vector<std::string> urls;
  for (const Location& root : *roots) urls.push_back(root.url.text());
  EXPECT_THAT(urls, testing::ElementsAre("memory://b", "memory://b/a", "memory://b/b"));
}

// Counts listings and what they show.
class ListedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    ++listings;
    return inner().list(prefix, options, [&](const ObjectInfo& object) {
      ++shown;
      return visit(object);
    });
  }
  std::size_t listings = 0;
  std::size_t shown = 0;
};

TEST_F(Recorder, FindingTrackingRootsDoesNotDependOnWhatTheirRunsHold) {
  std::vector<std::size_t> listings, shown;
  for (const int objects : {1100, 2200}) {
    const std::string bucket = concat("memory://held-", objects);
    for (const char* const root : {"", "/projects/a"}) {
      for (const char* const kind :
           {"console", "metrics", "media", "mlflow/runs", "runs/catalog/output", "runs/v2", "work"}) {
        for (int i = 0; i < objects; ++i)
          write(concat(bucket, root, "/_headrace/", kind, "/run-", i, "/x"), "");
      }
    }
    write(concat(bucket, "/_headrace/mlflow/artifacts/0/x/_headrace/runs/v2/y"), "");
    write(concat(bucket, "/data/_headrace/manifest-00000001"), "");
    write(concat(bucket, "/projects/z/_headrace/runs/v2/r/part/start"), "");
    Location place = at(bucket);
    const auto counted = std::make_shared<ListedStore>(place.store);
    place.store = counted;
    const auto roots = tracking_roots_below(place);
    ASSERT_TRUE(roots);
    std::vector<std::string> keys;
    for (const Location& root : *roots) keys.push_back(root.key);
    EXPECT_THAT(keys, testing::ElementsAre("", "projects/a", "projects/z"));
    listings.push_back(counted->listings);
    shown.push_back(counted->shown);
  }
  EXPECT_EQ(listings[0], 5U);  // two skips in each of two roots
  EXPECT_EQ(listings[1], listings[0]);
  EXPECT_EQ(shown[1], shown[0]);
  EXPECT_LE(shown[0], 4U * 1000 + 10);
}

TEST_F(Recorder, TheTrackingRootOfAFileIsItsParentFolderAndNeverTheMachinesRoot) {
  EXPECT_EQ(tracking_root(at("file:///nonexistent/a/b"))->url.text(), "file:///nonexistent/a");
  EXPECT_EQ(tracking_root(at("file:///nonexistent"))->url.text(), "file:///nonexistent");
}

TEST_F(Recorder, AnotherRootCanBeGiven) {
  auto recorder = RunRecorder::start(stores, at("memory://b/runs/1"), {.command = "train"},
                                     {.root_url = "memory://records/mine", .now = Environment{}.now});
  ASSERT_TRUE(recorder);
  EXPECT_EQ(list_runs(at("memory://records/mine"), 10)->runs.size(), 1U);
  EXPECT_TRUE(list_runs(at("memory://b"), 10)->runs.empty());
}

TEST_F(Recorder, ARunWithoutOutputSaysSo) {
  const auto recorder = RunRecorder::start(stores, at("memory://b/runs/1"), {.command = "evaluate"},
                                           {.has_output = false, .now = Environment{}.now});
  ASSERT_TRUE(recorder);
  const auto run = read_run(at("memory://b"), recorder->run_id());
  EXPECT_EQ(run->start.output, "");
  EXPECT_TRUE(run->outputs().empty());
}

TEST_F(Recorder, DescribesAPublishedFolderByItsLatestManifest) {
  const Location folder = at("memory://b/data");
  const std::string bytes = serialize_manifest(
      {.kind = "dataset", .parts = {{.key = "a", .size_bytes = 5}, {.key = "b", .size_bytes = 6}}});
  for (const std::uint64_t number : {1U, 2U}) {
    ASSERT_TRUE(create_numbered(*folder.store, folder.at(kManifestPrefix).key, number, as_bytes(bytes)));
  }
  const auto artifact = describe_artifact(folder);
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_EQ(artifact->kind, "dataset");
  EXPECT_EQ(artifact->manifest, 2U);
  EXPECT_EQ(artifact->size_bytes, 11U);
  EXPECT_EQ(artifact->digest.size(), 64U);
  EXPECT_EQ(describe_artifact(at("memory://b/nothing")).error().code, Code::kNotFound);
  ASSERT_TRUE(write_text(*folder.store, "raw/1.csv", "x"));
  EXPECT_EQ(describe_artifact(at("memory://b/raw/*.csv"))->kind, "pattern");
  EXPECT_EQ(describe_artifact(at("memory://b/raw/*.tsv")).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace headrace

#include "headrace/run_index/run_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <tuple>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/segment.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"
#include "headrace/store/scratch_folder_test.h"
#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

const std::vector<std::string> kStrangeNames = {"loss", "a' OR 1=1 --", "val loss", "a.b/c", "ü%_\n\"`"};

// Counts what it is asked, and may do something behind a listing of records.
class CountingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    ++reads;
    if (key.find(unreadable) != key.npos) return Error{refusal, concat(key, " is refused")};
    return inner().read_into(key, target, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    ++lists;
    if (on_listing) HEADRACE_CHECK(on_listing(prefix));
    Status status = inner().list(prefix, options, visit);
    if (after_listing && prefix == kRunPartsPrefix) std::exchange(after_listing, nullptr)();
    return status;
  }
  std::atomic<int> reads{0};
  std::atomic<int> lists{0};
  std::function<void()> after_listing;
  std::function<Status(std::string_view prefix)> on_listing;  // an error: the listing fails
  std::string unreadable = "//";                              // keys with this are refused
  Code refusal = Code::kPermissionDenied;
};

auto* const index_scratch = static_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));

class RunIndexTest : public testing::Test {
 protected:
  RunIndexTest() {
    store_ = std::make_shared<CountingStore>(make_memory_store("b"));
    root_ = {store_, "", StoreRegistry::parse("memory://b").value_or(Url())};
  }

  static RunStart start_of(int number) {
    RunStart start{.command = number % 3 == 0 ? "prepare" : "train"};
    start.started =
        concat("2026-11-27T00:00:", zero_padded(static_cast<std::uint64_t>(number % 60), 2), ".000Z");
    start.output = concat("memory://b/out/", number % 4);
    return start;
  }
  static std::string part_of(int number) {
    return make_part_name(0, std::chrono::system_clock::time_point(std::chrono::seconds(number)), 7);
  }
  void put(const std::string& run, const std::string& part, const std::string& name, std::string_view text) {
    ASSERT_TRUE(write_text(*store_, part_key(run, part, name), text));
  }
  void put_run(int number, const RunEnd& end, const std::map<std::string, std::string>& parameters = {}) {
    const std::string run = concat("run-", number);
    RunStart start = start_of(number);
    start.parameters = parameters;
    put(run, part_of(number), "start", serialize_run_start(run, start));
    put(run, part_of(number), "end", serialize_run_end(run, end));
  }
  RunIndex open() {
    DatabaseFailure failure = DatabaseFailure::kNone;
    auto index = RunIndex::open("", "memory://b", failure);
    EXPECT_TRUE(index);
    return *std::move(index);
  }
  RefreshReport refresh(RunIndex& index) {
    auto report = index.refresh_records(root_);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return report ? *std::move(report) : RefreshReport();
  }
  static std::vector<std::string> ids(RunIndex& index, const RunQuery& query) {
    const auto found = index.find(query);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    std::vector<std::string> all;
    if (!found) return all;
    for (const IndexedRun& run : *found) all.push_back(run.id);
    return all;
  }
  static std::vector<std::string> ids(RunIndex& index) { return ids(index, {.most = 1000}); }

  std::shared_ptr<CountingStore> store_;
  Location root_;
};

RunEnd end_with(std::map<std::string, double> metrics) {
  RunEnd end;
  end.metrics = std::move(metrics);
  end.ended = "2026-11-27T01:00:00.000Z";
  return end;
}

TEST_F(RunIndexTest, ARefreshWithoutNewsReadsNothing) {
  for (int i = 0; i < 5; ++i) put_run(i, end_with({{"loss", i * 1.0}}));
  RunIndex index = open();
  EXPECT_EQ(refresh(index).read, 5U);
  store_->reads = store_->lists = 0;
  EXPECT_EQ(refresh(index).read, 0U);
  EXPECT_EQ(store_->reads, 0);
  EXPECT_EQ(store_->lists, 2);
  EXPECT_THAT(ids(index), testing::ElementsAre("run-4", "run-3", "run-2", "run-1", "run-0"));
}

TEST_F(RunIndexTest, NewsOfARunAreSeenInTheListing) {
  put("r", part_of(1), "start", serialize_run_start("r", start_of(1)));
  RunIndex index = open();
  refresh(index);
  const auto status = [&] { return index.find({.most = 1})->at(0).status; };
  EXPECT_EQ(status(), "running or killed");
  put("r", part_of(1), "end", serialize_run_end("r", end_with({})));
  refresh(index);
  EXPECT_EQ(status(), "finished");
  RunEnd failed = end_with({});
  failed.status = RunStatus::kFailed;
  put("r", part_of(2), "start", serialize_run_start("r", start_of(2)));  // another attempt
  put("r", part_of(2), "end", serialize_run_end("r", failed));
  refresh(index);
  EXPECT_EQ(status(), "failed");
  EXPECT_EQ(index.record(index.find({.most = 1})->at(0))->parts.size(), 2U);
}

TEST_F(RunIndexTest, ARunThatWasRemovedIsForgotten) {
  put_run(1, end_with({{"loss", 1}}));
  put_run(2, end_with({{"loss", 2}}));
  RunIndex index = open();
  refresh(index);
  ASSERT_TRUE(remove_object(*store_, part_key("run-1", part_of(1), "start")));
  ASSERT_TRUE(remove_object(*store_, part_key("run-1", part_of(1), "end")));
  refresh(index);
  EXPECT_THAT(ids(index), testing::ElementsAre("run-2"));
  EXPECT_EQ(
      ids(index, {.order = parse_order("metrics.loss", indexed_run_target()).value_or({}), .most = 9}).size(),
      1U);
}

TEST_F(RunIndexTest, ADamagedRecordHidesNoOtherAndIsReadAgain) {
  put_run(1, end_with({}));
  put("bad", part_of(2), "start", "{}");
  RunIndex index = open();
  EXPECT_EQ(refresh(index).damaged.size(), 1U);
  EXPECT_EQ(refresh(index).damaged.size(), 1U);
  EXPECT_THAT(ids(index), testing::ElementsAre("run-1"));
  put("bad", part_of(2), "start", serialize_run_start("bad", start_of(2)));
  EXPECT_TRUE(refresh(index).damaged.empty());
  EXPECT_THAT(ids(index), testing::ElementsAre("bad", "run-1"));
}

TEST_F(RunIndexTest, TheRecordIsThatOfTheStore) {
  RunEnd end = end_with({{"loss", std::nan("")}, {"accuracy", 0.5}});
  end.inputs.push_back({.url = "memory://b/in", .kind = "object", .name = "data"});
  put_run(1, end, {{"lr", "0.1"}});
  RunIndex index = open();
  refresh(index);
  const auto record = index.record(index.find({.most = 1})->at(0));
  const auto read = read_run(root_, "run-1");
  ASSERT_TRUE(record && read);
  EXPECT_EQ(serialize_run_start("run-1", record->start), serialize_run_start("run-1", read->start));
  EXPECT_EQ(serialize_run_end("run-1", *record->end), serialize_run_end("run-1", *read->end));
}

TEST_F(RunIndexTest, ASlowRefreshDoesNotReplaceWhatALaterOneWrote) {
  const std::string path = index_scratch->new_root();
  DatabaseFailure failure = DatabaseFailure::kNone;
  auto slow = RunIndex::open(path, "memory://b", failure);
  auto fast = RunIndex::open(path, "memory://b", failure);
  ASSERT_TRUE(slow && fast);
  put("r", part_of(1), "start", serialize_run_start("r", start_of(1)));
  put_run(3, end_with({}));
  store_->after_listing = [&] {
    put("r", part_of(1), "end", serialize_run_end("r", end_with({})));
    put_run(2, end_with({}));
    refresh(*fast);
  };
  refresh(*slow);
  EXPECT_THAT(ids(*slow), testing::UnorderedElementsAre("r", "run-2", "run-3"));
  EXPECT_EQ(refresh(*slow).read, 0U);  // the states are those of the later listing
}

// Puts a state of MLflow's client, as its writers do.
void put_state(Store& store, const std::string& run, int number, Json state) {
  state["format"] = "headrace.mlflow.run";
  state["version"] = 1;
  std::string text = state.dump();
  const std::string digest = sha256_hex(as_bytes(text));
  text.pop_back();
  const std::string key =
      concat("_headrace/mlflow/runs/", run, "/", zero_padded(static_cast<std::uint64_t>(number), 8));
  ASSERT_TRUE(write_text(store, key, concat(text, ",\"zz_sha256\":\"", digest, "\"}\n")));
}

TEST_F(RunIndexTest, TagsAndStatesOfMlflowsClientsAreFoundAndFollowed) {
  put_run(1, end_with({}), {{"lr", "1"}});
  put_run(2, end_with({}));
  put_state(*store_, "run-1", 1, {{"tags", Json({{"team", "a"}})}, {"status", "FAILED"}});
  put_state(*store_, "no-run", 1, {{"tags", Json({{"team", "a"}})}});
  RunIndex index = open();
  const auto found = [&](const std::string& filter) {
    refresh(index);
    const auto report = index.refresh_states(root_);
    EXPECT_TRUE(report && report->damaged.empty());
    return ids(index, {.filter = *SearchFilter::parse(filter, indexed_run_target()), .most = 9});
  };
  EXPECT_THAT(found("tags.team = 'a' AND params.lr = 1"), testing::ElementsAre("run-1"));
  EXPECT_THAT(found("attributes.status = 'failed'"), testing::ElementsAre("run-1"));
  EXPECT_THAT(found("tags.headrace.command = 'train' AND tags.team IS NULL"), testing::ElementsAre("run-2"));
  store_->reads = 0;
  found("");
  EXPECT_EQ(store_->reads, 0);
  put_state(*store_, "run-1", 2, {{"tags", Json({{"team", "b"}})}, {"params", Json({{"late", "7"}})}});
  EXPECT_THAT(found("tags.team = 'a'"), testing::IsEmpty());
  EXPECT_THAT(found("tags.team = 'b' AND params.late > 6 AND status = 'finished'"),
              testing::ElementsAre("run-1"));
  EXPECT_EQ(store_->reads, 1);
  RunEnd changed = end_with({});  // a record that is read again keeps its state
  changed.seconds = 7;
  put_run(1, changed);
  EXPECT_THAT(found("tags.team = 'b' AND seconds = 7"), testing::ElementsAre("run-1"));
  for (const int number : {1, 2})
    ASSERT_TRUE(remove_object(
        *store_, concat("_headrace/mlflow/runs/run-1/", zero_padded(static_cast<std::uint64_t>(number), 8))));
  EXPECT_THAT(found("tags.team = 'b'"), testing::IsEmpty());
}

TEST_F(RunIndexTest, ADamagedStateIsToldAndLeavesTheEarlierOne) {
  put_run(1, end_with({}));
  put_state(*store_, "run-1", 1, {{"tags", Json({{"team", "a"}})}});
  RunIndex index = open();
  refresh(index);
  ASSERT_TRUE(index.refresh_states(root_));
  ASSERT_TRUE(write_text(*store_, "_headrace/mlflow/runs/run-1/00000002", "{}\n"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(index.refresh_states(root_)->damaged.size(), 1U);
  const RunQuery of_team{.filter = *SearchFilter::parse("tags.team = 'a'", indexed_run_target()), .most = 9};
  EXPECT_THAT(ids(index, of_team), testing::ElementsAre("run-1"));
}

TEST_F(RunIndexTest, AnOrderByATagPutsRunsWithoutItLast) {
  for (int i = 0; i < 4; ++i) put_run(i, end_with({}));
  put_state(*store_, "run-1", 1, {{"tags", Json({{"team", "b"}})}});
  put_state(*store_, "run-2", 1, {{"tags", Json({{"team", "a"}})}});
  RunIndex index = open();
  refresh(index);
  ASSERT_TRUE(index.refresh_states(root_));
  const RunQuery by_team{.order = *parse_order("tags.team", indexed_run_target()), .most = 9};
  EXPECT_THAT(ids(index, by_team), testing::ElementsAre("run-2", "run-1", "run-3", "run-0"));
}

TEST_F(RunIndexTest, ATableIsOfOneMomentWhileOthersRefresh) {
  const std::string path = index_scratch->new_root();
  DatabaseFailure failure = DatabaseFailure::kNone;
  auto reader = RunIndex::open(path, "memory://b", failure);
  auto other = RunIndex::open(path, "memory://b", failure);
  ASSERT_TRUE(reader && other);
  put_run(1, end_with({{"loss", 1}}), {{"lr", "1"}});
  refresh(*reader);
  const Status read = reader->in_snapshot([&]() -> Status {
    HEADRACE_TRY(const auto runs, reader->find({.most = 9}));
    put_run(1, end_with({{"loss", 2}}), {{"lr", "2"}});
    EXPECT_EQ(refresh(*other).read, 1U);
    HEADRACE_TRY(const auto metrics, reader->metrics(runs.at(0)));
    EXPECT_EQ(metrics.at(0).value, 1);
    HEADRACE_TRY(const auto parameters, reader->parameters(runs.at(0)));
    EXPECT_EQ(parameters.at(0).second, "1");
    HEADRACE_TRY(const RunRecord record, reader->record(runs.at(0)));
    EXPECT_EQ(record.end->metrics.at("loss"), 1);
    return {};
  });
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  EXPECT_EQ(reader->failure(), DatabaseFailure::kNone);
  EXPECT_EQ(reader->metrics(reader->find({.most = 9})->at(0))->at(0).value, 2);
}

TEST_F(RunIndexTest, ARunThatWasReplacedBeforeItsMetricsWereReadIsPassedOver) {
  constexpr int kLive = 300;  // more than one transaction
  const std::string path = index_scratch->new_root();
  DatabaseFailure failure = DatabaseFailure::kNone;
  auto slow = RunIndex::open(path, "memory://b", failure);
  auto fast = RunIndex::open(path, "memory://b", failure);
  ASSERT_TRUE(slow && fast);
  for (int i = 0; i < kLive; ++i) {
    const std::string run = concat("r", i);
    put(run, part_of(i), "start", serialize_run_start(run, start_of(i)));
  }
  put("r0", part_of(0), "series/metrics",
      serialize_run_series("r0", {"metrics", "memory://b/log", std::string(kSegmentsKind)}));
  refresh(*slow);
  store_->on_listing = [&](std::string_view prefix) -> Status {
    if (!prefix.starts_with("log")) return {};
    store_->on_listing = nullptr;
    for (int i = 0; i < kLive; ++i)
      put(concat("r", i), part_of(i), "end", serialize_run_end(concat("r", i), end_with({})));
    refresh(*fast);
    return {};
  };
  const auto report = slow->refresh_metrics({.open = [&](const std::string&) { return root_.at("log"); }});
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  EXPECT_EQ(slow->failure(), DatabaseFailure::kNone);
  EXPECT_EQ(ids(*slow).size(), std::size_t{kLive});
}

TEST_F(RunIndexTest, ARunThatIsRefusedHidesNoOther) {
  put_run(1, end_with({}));
  put_run(2, end_with({}));
  put("r", part_of(3), "start", serialize_run_start("r", start_of(3)));
  put("r", part_of(3), "series/metrics",
      serialize_run_series("r", {"metrics", "other://b/log", std::string(kSegmentsKind)}));
  store_->unreadable = "run-2";
  for (const Code code : {Code::kPermissionDenied, Code::kResourceExhausted, Code::kInvalidArgument}) {
    store_->refusal = code;
    RunIndex index = open();
    EXPECT_EQ(refresh(index).damaged.size(), 1U);
    const auto report = index.refresh_metrics({.open = [&](const std::string&) -> Result<Location> {
      return Error{code, "there is no such store"};
    }});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_THAT(report->damaged, testing::ElementsAre("there is no such store"));
    EXPECT_THAT(ids(index), testing::ElementsAre("r", "run-1"));
  }
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded, Code::kCancelled}) {
    store_->refusal = code;
    RunIndex index = open();
    const auto report = index.refresh_records(root_);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, code);
  }
}

TEST_F(RunIndexTest, InMemoryOnlyTheNewestThatAreAskedForAreRead) {
  for (int i = 0; i < 20; ++i) put_run(i, end_with({}));
  RunIndex index = open();
  const auto report = index.refresh_records(root_, {}, 3);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->read, 3U);
  EXPECT_THAT(ids(index), testing::ElementsAre("run-19", "run-18", "run-17"));
  DatabaseFailure failure = DatabaseFailure::kNone;
  auto file = RunIndex::open(index_scratch->new_root(), "memory://b", failure);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->refresh_records(root_, {}, 3)->read, 20U);
}

// Wherever a refresh ends early, the next one still reads the ended run whose folder another one goes on in.
TEST_F(RunIndexTest, AnEndedRunWhoseEventFilesGoOnIsReadAgainAfterAnyBreak) {
  const HistorySource source{.open = [&](const std::string& url) -> Result<Location> {
    return root_.at(url.substr(std::string("memory://b/").size()));
  }};
  const RunSeries events{"events", "memory://b/events", "event_files"};
  for (int fails_at = 1, is_broken = 1; is_broken; ++fails_at) {
    const std::string ended = concat("ended-", fails_at);
    const std::string later = concat("later-", fails_at);
    RunIndex index = open();
    RunEnd end = end_with({});
    end.series = {events};
    put(ended, part_of(1), "start", serialize_run_start(ended, start_of(1)));
    put(ended, part_of(1), "end", serialize_run_end(ended, end));
    refresh(index);
    ASSERT_TRUE(index.refresh_metrics(source));
    put(later, part_of(2), "start", serialize_run_start(later, start_of(2)));
    put(later, part_of(2), "series/events", serialize_run_series(later, events));
    refresh(index);
    std::atomic<int> asked{0};
    store_->on_listing = [&](std::string_view prefix) -> Status {
      if (!prefix.starts_with("events") || ++asked != fails_at) return {};
      return Error{Code::kUnavailable, "the store is away"};
    };
    const auto first = index.refresh_metrics(source);
    store_->on_listing = nullptr;
    is_broken = first ? 0 : 1;
    const auto second = index.refresh_metrics(source);
    ASSERT_TRUE(second);
    EXPECT_GE(is_broken ? second->read : first->read, 1U) << fails_at;
    EXPECT_EQ(index.refresh_metrics(source)->read, 0U);
    for (const std::string& run : {ended, later}) {
      const std::string part = part_of(run == ended ? 1 : 2);
      for (const char* const name : {"start", "end", "series/events"})
        ASSERT_TRUE(remove_object(*store_, part_key(run, part, name)));
    }
    ASSERT_LT(fails_at, 20);
  }
}

HistorySource source_of(const Location& root) {
  return {.open = [root](const std::string& url) -> Result<Location> {
    return root.at(url.substr(std::string("memory://b/").size()));
  }};
}

MlflowQuery metric_query() {
  return {.orders = {{{Entity::kMetric, "loss"}, true}, {{Entity::kAttribute, "run_id"}, true}},
          .experiments = {"0"},
          .most = 1000};
}

TEST_F(RunIndexTest, AMetricThatAFullEndLacksIsReadFromSegments) {
  RunEnd full = end_with({});
  for (std::size_t i = 0; i < kMostFinalMetrics; ++i) full.metrics[concat("a/", i)] = 1;
  full.series = {{"metrics", "memory://b/segments", "metric_segments"}};
  put_run(1, full);
  const std::vector<std::string> names = {"a/0", "loss"};
  const std::vector<MetricPoint> points = {{0, 1, 0, 9.0}, {1, 1, 0, 0.25}};
  ASSERT_TRUE(store_->write(concat("segments/", segment_name(0, 0)),
                            encode_segment({.is_end = true}, names, points), {}));
  RunIndex index = open();
  refresh(index);
  ASSERT_TRUE(index.refresh_metrics(source_of(root_)));
  const auto metrics = index.metrics(index.find({.most = 1})->at(0));
  ASSERT_TRUE(metrics);
  const auto found = [&](const std::string& name) {
    return *std::ranges::find(*metrics, name, &IndexedMetric::name);
  };
  EXPECT_EQ(metrics->size(), kMostFinalMetrics + 1);
  const auto named = index.metrics(index.find({.most = 1})->at(0), {"loss", "a/7", "none", "loss"});
  ASSERT_EQ(named->size(), 2U);
  EXPECT_EQ(named->at(0).name, "a/7");
  EXPECT_EQ(named->at(1).value, 0.25);
  EXPECT_EQ(found("loss").value, 0.25);
  EXPECT_EQ(found("a/0").value, 1);  // the end's counts
  EXPECT_EQ(index.refresh_metrics(source_of(root_))->read, 0U);
}

// Another process records a run that goes on in the folder, while the values of the ended run are read.
TEST_F(RunIndexTest, ValuesThatWereReadBeforeAnotherRunChangedTheirFolderAreNotKept) {
  const RunSeries events{"events", "memory://b/events", "event_files"};
  RunEnd end = end_with({});
  end.series = {events};
  put_run(1, end);
  const std::string path = index_scratch->new_root() + ".sqlite";
  DatabaseFailure failure = DatabaseFailure::kNone;
  auto slow = RunIndex::open(path, "memory://b", failure),
       quick = RunIndex::open(path, "memory://b", failure);
  ASSERT_TRUE(slow && quick);
  refresh(*slow);
  int later = 2;
  const auto begin_later_run = [&] {
    const std::string run = concat("later-", later);
    put(run, part_of(later), "start", serialize_run_start(run, start_of(later)));
    put(run, part_of(later++), "series/events", serialize_run_series(run, events));
    refresh(*quick);
  };
  store_->on_listing = [&](std::string_view prefix) -> Status {
    if (prefix.starts_with("events") && later == 2) begin_later_run();
    return {};
  };
  EXPECT_EQ(slow->refresh_metrics(source_of(root_))->read, 0U);
  EXPECT_EQ(slow->refresh_metrics(source_of(root_))->read, 2U);

  const auto unsettled = [&] { return *quick->unsettled_mlflow_runs(metric_query()); };
  const FoundMlflowRun found = unsettled().at(0);
  ASSERT_EQ(found.id, "run-1");
  const auto run = [&] { return *slow->mlflow_run(found); };
  const MlflowRun before = run();
  begin_later_run();
  ASSERT_TRUE(slow->keep_points(found, before, {{"loss", {1, 1, 2.0}}}));
  EXPECT_EQ(unsettled().at(0).id, "run-1");
  ASSERT_TRUE(slow->keep_points(found, run(), {{"loss", {1, 1, 2.0}}}));
  EXPECT_NE(unsettled().at(0).id, "run-1");
  EXPECT_EQ(run().points->at("loss").value, 2.0);
  begin_later_run();
  EXPECT_EQ(unsettled().at(0).id, "run-1");
  EXPECT_FALSE(run().points);
}

TEST_F(RunIndexTest, WarningsComeOneAtATime) {
  for (int i = 0; i < 64; ++i) {
    const std::string run = concat("r", i);
    put(run, part_of(i), "start", serialize_run_start(run, start_of(i)));
    put(run, part_of(i), "series/events",
        serialize_run_series(run, {"events", concat("memory://b/e", i), "event_files"}));
    ASSERT_TRUE(write_text(*store_, concat("e", i, "/events.out.tfevents.1.a.1.0"), std::string(64, 'x')));
  }
  RunIndex index = open();
  refresh(index);
  std::atomic<int> inside{0};
  int most = 0;
  int warned = 0;
  const HistorySource source{.open = [&](const std::string& url) -> Result<Location> {
                               return root_.at(url.substr(std::string("memory://b/").size()));
                             },
                             .warn =
                                 [&](const std::string&) {
                                   most = std::max(most, ++inside);
                                   ++warned;
                                   std::this_thread::yield();
                                   --inside;
                                 }};
  ASSERT_TRUE(index.refresh_metrics(source));
  EXPECT_GE(warned, 64);
  EXPECT_EQ(most, 1);
}

// Logs points by step into the part's log, and names it in the record.
class LoggedRun {
 public:
  LoggedRun(Location root, std::string run, std::string part)
      : log_(root.at(concat(kMetricsPrefix, run, "/", part))) {}
  std::string url() const { return concat("memory://b/", log_.key); }
  void log(std::uint64_t segment, std::vector<MetricPoint> points) {
    const std::vector<std::string> names = {"loss", "system/cpu"};
    const Bytes bytes = encode_segment({.first = segment, .last = segment}, names, points);
    ASSERT_TRUE(log_.store->write(log_.at(segment_name(segment, segment)).key, bytes, {}));
  }

 private:
  Location log_;
};

TEST_F(RunIndexTest, ARunThatGoesOnHasTheLastValuesThatItLogged) {
  const HistorySource source{.open = [&](const std::string& url) -> Result<Location> {
    return root_.at(url.substr(std::string("memory://b/").size()));
  }};
  LoggedRun logged(root_, "r", part_of(1));
  put("r", part_of(1), "start", serialize_run_start("r", start_of(1)));
  put("r", part_of(1), "series/metrics",
      serialize_run_series("r", {"metrics", logged.url(), std::string(kSegmentsKind)}));
  logged.log(0, {{0, 1, 0, 0.5}, {1, 1, 0, 80}});
  RunIndex index = open();
  const auto values = [&] {
    refresh(index);
    const auto report = index.refresh_metrics(source);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    std::map<std::string, double> all;
    const auto metrics = index.metrics(index.find({.most = 1})->at(0));
    for (const IndexedMetric& metric : *metrics) all[metric.name] = metric.value;
    return all;
  };
  EXPECT_THAT(values(), testing::ElementsAre(testing::Pair("loss", 0.5)));
  logged.log(1, {{0, 2, 0, 0.25}});
  EXPECT_THAT(values(), testing::ElementsAre(testing::Pair("loss", 0.25)));
  store_->reads = 0;
  EXPECT_THAT(values(), testing::ElementsAre(testing::Pair("loss", 0.25)));
  EXPECT_EQ(store_->reads, 0);
  put("r", part_of(1), "end", serialize_run_end("r", end_with({{"loss", 0.125}})));
  EXPECT_THAT(values(), testing::ElementsAre(testing::Pair("loss", 0.125)));
}

// The same table by reading everything and comparing in C++.
class Oracle {
 public:
  explicit Oracle(std::vector<RunRecord> runs) : runs_(std::move(runs)) {}

  std::vector<std::string> ids(const SearchFilter& filter, const SearchOrder& order) const {
    std::vector<const RunRecord*> kept;
    for (const RunRecord& run : runs_) {
      if (filter.matches([&](const SearchColumn& column) { return std::vector{value(run, column)}; }))
        kept.push_back(&run);
    }
    std::sort(kept.begin(), kept.end(),
              [&](const RunRecord* a, const RunRecord* b) { return comes_first(*a, *b, order); });
    std::vector<std::string> all;
    for (const RunRecord* run : kept) all.push_back(run->id);
    return all;
  }

  static ColumnValue value(const RunRecord& run, const SearchColumn& column) {
    if (column.entity == Entity::kMetric) {
      const auto found = run.end->metrics.find(column.key);
      return found == run.end->metrics.end() ? ColumnValue() : found->second;
    }
    if (column.entity == Entity::kParam) {
      const auto found = run.start.parameters.find(column.key);
      return found == run.start.parameters.end() ? ColumnValue() : found->second;
    }
    if (column.key == "run_id") return run.id;
    if (column.key == "command") return run.start.command;
    if (column.key == "started") return run.start.started;
    if (column.key == "seconds") return run.end->seconds;
    return run.start.output;
  }

 private:
  static std::pair<int, ColumnValue> key(const RunRecord& run, const SearchOrder& order) {
    ColumnValue found = value(run, order.column);
    if (std::holds_alternative<std::monostate>(found)) return {2, {}};
    if (const auto* number = std::get_if<double>(&found); number && std::isnan(*number)) return {1, {}};
    if (order.column.entity != Entity::kParam) return {0, found};
    if (const auto number = finite_number(std::get<std::string>(found))) return {0, *number};
    return {1, found};
  }
  static bool comes_first(const RunRecord& a, const RunRecord& b, const SearchOrder& order) {
    const auto one = key(a, order);
    const auto two = key(b, order);
    if (one.first != two.first) return one.first < two.first;
    if (one.second != two.second) return (one.second < two.second) == order.is_ascending;
    return std::tie(a.start.started, a.id) > std::tie(b.start.started, b.id);
  }

  std::vector<RunRecord> runs_;
};

TEST_F(RunIndexTest, TablesEqualThoseMadeWithoutTheIndex) {
  std::mt19937 random(20261127);
  const std::vector<double> numbers = {0.25,  0.3,          -1,
                                       1e300, std::nan(""), std::numeric_limits<double>::infinity()};
  const std::vector<std::string> texts = {"0.1", "1e-3", "adam", "", "nan", "10", "9", "it's"};
  for (int i = 0; i < 120; ++i) {
    RunEnd end = end_with({});
    end.seconds = static_cast<double>(random() % 5);
    std::map<std::string, std::string> parameters;
    for (const std::string& name : kStrangeNames) {
      if (random() % 3 != 0) end.metrics[name] = numbers[random() % numbers.size()];
      if (random() % 3 != 0) parameters[name] = texts[random() % texts.size()];
    }
    put_run(i, end, parameters);
  }
  RunIndex index = open();
  refresh(index);
  const Oracle oracle(list_runs(root_, 1000).value_or({}).runs);
  const std::vector<std::string> filters = {
      "",
      "metrics.loss < 0.3",
      "metrics.loss != 0.3 AND seconds >= 2",
      "metrics.`a' OR 1=1 --` >= 0.25",
      "params.`val loss` >= 1e-3",
      "params.`val loss` != 0.1",
      "params.loss = 'adam'",
      "params.loss != 'adam' AND metrics.`a.b/c` > 0",
      "params.loss LIKE '%a%' AND command ILIKE 'TR%'",
      "params.loss IS NULL",
      "params.loss IS NOT NULL AND command IN ('train', 'x')",
      "run_id NOT IN ('run-1', 'run-2')",
      "started >= '2026-11-27T00:00:20' AND started < '2026-11-27T00:00:40'",
      "output = 'memory://b/out/1'"};
  const std::vector<std::string> orders = {"metrics.loss", "metrics.`val loss` DESC",
                                           "params.loss",  "params.`a.b/c` DESC",
                                           "seconds DESC", "run_id",
                                           "command"};
  for (const std::string& filter_text : filters) {
    const auto filter = SearchFilter::parse(filter_text, indexed_run_target());
    ASSERT_TRUE(filter) << filter.error().message;
    for (const std::string& order_text : orders) {
      const auto order = parse_order(order_text, indexed_run_target());
      ASSERT_TRUE(order) << order.error().message;
      const auto expected = oracle.ids(*filter, *order);
      EXPECT_EQ(ids(index, {*filter, *order, 1000}), expected) << filter_text << " by " << order_text;
      const std::vector<std::string> first(expected.begin(),
                                           expected.begin() + std::min<long>(7, expected.size()));
      EXPECT_EQ(ids(index, {*filter, *order, 7}), first) << filter_text << " by " << order_text;
    }
  }
}

TEST_F(RunIndexTest, OnlyRunsThatWroteBelowAUrlCount) {
  for (int i = 0; i < 8; ++i) put_run(i, end_with({}));
  RunIndex index = open();
  refresh(index);
  EXPECT_THAT(ids(index, {.most = 9, .output = "memory://b/out/1"}), testing::ElementsAre("run-5", "run-1"));
  EXPECT_EQ(ids(index, {.most = 9, .output = "memory://b/out"}).size(), 8U);
  EXPECT_TRUE(ids(index, {.most = 9, .output = "memory://b/ou"}).empty());
}

}  // namespace
}  // namespace headrace

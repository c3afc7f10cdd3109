#include "headrace/run_import/imported_record.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "headrace/artifact/artifact.h"
#include "headrace/base/text.h"
#include "headrace/history/history.h"
#include "headrace/run_import/value_test.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Before the n-th call: runs `then`, or is killed, so that no call is made any more.
class DisturbedStore final : public ForwardingStore {
 public:
  DisturbedStore(std::shared_ptr<Store> store, int at, std::function<void()> then)
      : ForwardingStore(std::move(store)), at_(at), then_(std::move(then)) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    HEADRACE_CHECK(step());
    return ForwardingStore::read_into(key, target, options);
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    HEADRACE_CHECK(step());
    return ForwardingStore::stat(key, options);
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    HEADRACE_CHECK(step());
    return ForwardingStore::write(key, data, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    HEADRACE_CHECK(step());
    return ForwardingStore::list(prefix, options, visit);
  }
  int calls() const { return calls_; }

 private:
  Status step() {
    const int call = calls_++;
    if (!then_ && call >= at_) return Error{Code::kUnavailable, "killed"};
    if (call == at_) then_();
    return {};
  }

  int at_;
  std::function<void()> then_;  // none: a kill
  int calls_ = 0;
};

Location at(std::shared_ptr<Store> store, std::string key) {
  return {std::move(store), key, {.scheme = "memory", .authority = "b", .path = key}};
}

struct Source {
  Source() { EXPECT_TRUE(write_text(*files, "art/notes.txt", "hello")); }
  std::shared_ptr<Store> files = make_memory_store("files");
  std::vector<double> values = {0.5, 0.25, 0.125};
  std::string state{};

  ImportedRun run() const {
    ImportedRun out{.identity = "mlflow/1", .source = "mlflow", .id = "1", .name = "cnn"};
    out.place = "file:///mlruns/0/1";
    out.state = state;
    out.parameters = {{"lr", "0.1"}};
    out.started = std::chrono::milliseconds(1'700'000'000'000);
    out.ended = std::chrono::milliseconds(1'700'000'002'500);
    return out;
  }
};

// Returns whether the run was new.
Result<bool> import_once(const Location& root, const Source& source) {
  HEADRACE_TRY(auto record, ImportedRecord::begin(root, source.run(), {.command_line = {"headrace"}}));
  if (!record) return false;
  std::vector<std::int64_t> steps = {0, 1, 1, 2};
  std::vector<std::int64_t> times_us = {1'700'000'000'000'001, 1'700'000'000'000'002, 7, 8};
  steps.resize(source.values.size());
  times_us.resize(source.values.size());
  HEADRACE_CHECK(record->add_points("loss", steps, times_us, source.values));
  HEADRACE_TRY(ArtifactDraft draft, record->draft());
  HEADRACE_CHECK(draft.add_folder(at(source.files, "art")));
  HEADRACE_CHECK(record->add_files(draft));
  HEADRACE_CHECK(record->finish());
  return true;
}

std::map<std::string, std::string> objects_of(Store& store) {
  std::map<std::string, std::string> all;
  EXPECT_TRUE(store.list("", {}, [&](const ObjectInfo& object) {
    all[object.key] = to_string(value_of(read_object(store, object.key, 1 << 20)).data);
    return true;
  }));
  return all;
}

MetricSeries loss_of(const std::shared_ptr<Store>& store, const RunRecord& run) {
  const HistorySource history{.open = [&](const std::string& url) -> Result<Location> {
    return at(store, url.substr(std::string_view("memory://b/").size()));
  }};
  return value_of(value_of(metrics_of(run, history, {.verifies = true})).read("loss", 0));
}

TEST(ImportedRecord, IsARunWithMetricsAndFiles) {
  const std::shared_ptr<Store> store = make_memory_store("b");
  const Location root = at(store, "runs");
  const Source source;
  ASSERT_TRUE(value_of(import_once(root, source)));
  const RunRecord run = value_of(read_run(root, imported_run_id(source.run())));
  EXPECT_EQ(run.start.command, "import");
  EXPECT_EQ(run.start.started, "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(run.parameters().at("lr"), "0.1");
  EXPECT_EQ(run.inputs().at(0).url, "file:///mlruns/0/1");
  ASSERT_TRUE(run.end);
  EXPECT_EQ(run.end->ended, "2023-11-14T22:13:22.500Z");
  EXPECT_EQ(run.end->seconds, 2.5);
  EXPECT_EQ(run.end->metrics.at("loss"), 0.125);
  const MetricSeries loss = loss_of(store, run);
  EXPECT_THAT(loss.steps, ElementsAre(0, 1, 1));
  EXPECT_THAT(loss.times_us, ElementsAre(1'700'000'000'000'001, 1'700'000'000'000'002, 7));
  EXPECT_THAT(loss.values, ElementsAre(0.5, 0.25, 0.125));
  const ArtifactVersion files = value_of(find_artifact(root, run.id));
  EXPECT_EQ(value_of(read_entries(root, files)).at(0).path, "notes.txt");
  EXPECT_EQ(run.outputs().at(0).version, "v1");
}

TEST(ImportedRecord, ASecondImportWritesNothing) {
  const std::shared_ptr<Store> store = make_memory_store("b");
  const Source source;
  ASSERT_TRUE(value_of(import_once(at(store, "runs"), source)));
  const auto before = objects_of(*store);
  EXPECT_FALSE(value_of(import_once(at(store, "runs"), source)));
  EXPECT_EQ(objects_of(*store), before);
}

TEST(ImportedRecord, GoesOnAfterAKillAtAnyCall) {
  const Source source;
  const std::shared_ptr<Store> whole = make_memory_store("b");
  ASSERT_TRUE(import_once(at(whole, "runs"), source));
  const auto expected = objects_of(*whole);
  for (int call = 0;; ++call) {
    const std::shared_ptr<Store> store = make_memory_store("b");
    const auto killed = std::make_shared<DisturbedStore>(store, call, nullptr);
    const bool is_done = import_once(at(killed, "runs"), source).has_value();
    ASSERT_EQ(value_of(import_once(at(store, "runs"), source)), !is_done) << call;
    EXPECT_EQ(objects_of(*store), expected) << call;
    if (is_done) break;
  }
}

TEST(ImportedRecord, AnImportThatIsStalledAtAnyCallAndAnotherOneWriteOneRun) {
  const Source source;
  const std::shared_ptr<Store> whole = make_memory_store("b");
  ASSERT_TRUE(import_once(at(whole, "runs"), source));
  const auto expected = objects_of(*whole);
  for (int call = 0;; ++call) {
    const std::shared_ptr<Store> store = make_memory_store("b");
    const auto other = [&] { EXPECT_TRUE(import_once(at(store, "runs"), source)) << call; };
    const auto stalled = std::make_shared<DisturbedStore>(store, call, other);
    const auto done = import_once(at(stalled, "runs"), source);
    ASSERT_TRUE(done) << call << ": " << done.error().message;
    EXPECT_EQ(objects_of(*store), expected) << call;
    if (stalled->calls() <= call) break;
  }
}

TEST(ImportedRecord, ASourceThatHasChangedUnseenSinceAKillIsToldAndNothingIsReplaced) {
  const std::shared_ptr<Store> store = make_memory_store("b");
  const Location root = at(store, "runs");
  Source source;
  ASSERT_TRUE(import_once(root, source));
  std::string end;
  for (const auto& [key, content] : objects_of(*store)) {
    if (key.ends_with("/end")) end = key;
  }
  ASSERT_TRUE(store->remove_many(std::vector{end}, {}));
  const auto before = objects_of(*store);
  source.values.back() = 7;
  const auto again = import_once(root, source);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(objects_of(*store), before);
}

TEST(ImportedRecord, GoesOnAfterAKillAtAnyCallAlsoIfTheSourceHasGrown) {
  Source source;
  source.state = "3 points";
  Source grown = source;
  grown.values.push_back(0.0625);
  grown.state = "4 points";
  for (int call = 0;; ++call) {
    const std::shared_ptr<Store> store = make_memory_store("b");
    const Location root = at(store, "runs");
    const auto killed = std::make_shared<DisturbedStore>(store, call, nullptr);
    if (import_once(at(killed, "runs"), source)) break;
    const auto next = import_once(root, grown);
    ASSERT_TRUE(next) << call << ": " << next.error().message;
    const RunRecord run = value_of(read_run(root, imported_run_id(source.run())));
    EXPECT_EQ(run.status(), RunStatus::kFinished) << call;
    EXPECT_THAT(loss_of(store, run).values, *next ? grown.values : source.values) << call;
  }
}

TEST(ImportedRecord, ARunThatHasNotEndedIsStopped) {
  const Location root = at(make_memory_store("b"), "runs");
  ImportedRun run = Source().run();
  run.status = RunStatus::kUnfinished;
  run.ended.reset();
  auto record = value_of(ImportedRecord::begin(root, run, {}));
  ASSERT_TRUE(record);
  ASSERT_TRUE(record->finish());
  const RunRecord read = value_of(read_run(root, imported_run_id(run)));
  EXPECT_EQ(read.status(), RunStatus::kStopped);
  EXPECT_THAT(read.end->error, HasSubstr("had not ended in its source, mlflow"));
  EXPECT_TRUE(read.end->series.empty());
}

TEST(ImportedRecord, RefusesNamesThatNoMetricHas) {
  auto record = value_of(ImportedRecord::begin(at(make_memory_store("b"), "runs"), Source().run(), {}));
  const std::vector<std::int64_t> one = {1};
  const std::vector<double> value = {1};
  EXPECT_EQ(record->add_points("", one, one, value).error().code, Code::kInvalidArgument);
  EXPECT_EQ(record->add_points("\xff", one, one, value).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace

// Searches of runs: answers from the index are those of a search that reads all records.

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "headrace/base/environment.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/history/history.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/segment.h"
#include "headrace/mlflow/service.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/track/run_keys.h"

namespace headrace::mlflow {
namespace {

class ReadCountingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    ++reads;
    return ForwardingStore::read_into(key, target, options);
  }
  std::atomic<int> reads = 0;
};

class RunSearchTest : public testing::Test {
 protected:
  RunSearchTest() : store_(std::make_shared<ReadCountingStore>(stores_.open(kUrl)->store)) {
    stores_.put(*StoreRegistry::parse(kUrl), store_);
  }
  ~RunSearchTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<TrackingService> serve(std::optional<std::string> cache) {
    TrackingServiceOptions options{.root = *stores_.open(kUrl), .root_url = std::string(kUrl)};
    options.stores = &stores_;
    options.cache = std::move(cache);
    options.journals = folder_ + "/journals";
    options.now = [this] {
      return std::chrono::system_clock::time_point(std::chrono::milliseconds(++now_ms_));
    };
    options.remark = [this](const std::string& text) { remarks_.push_back(text); };
    return std::make_unique<TrackingService>(std::move(options));
  }
  std::unique_ptr<TrackingService> indexed() { return serve(folder_ + "/cache"); }

  static Json ask(TrackingService& service, std::string_view path, const Json& fields) {
    std::string body = fields.dump();
    const std::size_t size = body.size();
    body.append(kBodyPaddingBytes, '\0');
    const ApiAnswer answer = service.answer({.method = "POST",
                                             .target = concat("/api/2.0/mlflow/", path),
                                             .body = std::string_view(body).substr(0, size)},
                                            {});
    EXPECT_EQ(answer.status, 200U) << path << fields.dump() << answer.body;
    return *parse_json(answer.body);
  }
  static Json search(TrackingService& service, const std::string& filter,
                     const std::vector<std::string>& orders = {}, const std::string& stage = "ACTIVE_ONLY") {
    return ask(service, "runs/search",
               {{"experiment_ids", Json::array({"0", "1"})},
                {"filter", filter},
                {"order_by", orders},
                {"run_view_type", stage}});
  }
  static std::vector<std::string> ids(const Json& answer) {
    std::vector<std::string> out;
    for (const Json& run : answer["runs"].values()) out.push_back(run["info"]["run_id"].text());
    return out;
  }
  static std::string create(TrackingService& service, const std::string& experiment) {
    const Json made = ask(service, "runs/create", {{"experiment_id", experiment}, {"user_id", "me"}});
    return made["run"]["info"]["run_id"].text();
  }

  // The run of another program. With segments, only a reader of these knows its points.
  void put_native(int number, bool has_segments) {
    const std::string run = concat("native-", number);
    const auto begun = std::chrono::system_clock::time_point(std::chrono::seconds(1'795'000'000 + number));
    const std::string part = make_part_name(0, begun, 7);
    RunStart start{.command = "log",
                   .parameters = {{"lr", concat("0.", number)}, {"name", concat("n", number)}}};
    start.started = concat("2026-11-18T00:00:", zero_padded(static_cast<std::uint64_t>(number), 2), ".250Z");
    RunEnd end{.ended = "2026-11-18T01:00:00.000Z", .seconds = 60};
    end.metrics = {{"loss", number * 0.5}, {"other", 1.0 * (number % 2)}};
    if (has_segments) {
      const std::string log = concat(kMetricsPrefix, run, "/", part);
      const std::vector<std::string> names = {"loss", "rare"};
      const std::vector<MetricPoint> points = {{0, 1, 0, 9.0}, {0, 2, 0, number * 0.5}, {1, 1, 0, 3.0}};
      const Bytes segment = encode_segment({.first = 0, .last = 9, .is_end = true}, names, points);
      ASSERT_TRUE(store_->write(concat(log, "/", segment_name(0, 9)), segment, {}));
      end.series = {{"metrics", concat(kUrl, "/", log), std::string(kSegmentsKind)}};
    }
    ASSERT_TRUE(write_text(*store_, part_key(run, part, "start"), serialize_run_start(run, start)));
    ASSERT_TRUE(write_text(*store_, part_key(run, part, "end"), serialize_run_end(run, end)));
  }

  void make_runs() {
    const auto service = indexed();
    ask(*service, "experiments/create", {{"name", "cats"}});
    for (int i = 0; i < 24; ++i) {
      const std::string run = create(*service, i % 3 == 0 ? "1" : "0");
      if (i % 4 != 1)
        ask(*service, "runs/set-tag", {{"run_id", run}, {"key", "team"}, {"value", i % 2 ? "a" : "B"}});
      ask(*service, "runs/log-parameter", {{"run_id", run}, {"key", "lr"}, {"value", concat("0.", i % 7)}});
      const Json value = i % 5 == 0 ? Json("NaN") : i % 5 == 1 ? Json("-Infinity") : Json(i % 6 * 0.25);
      if (i % 6 != 2)
        ask(*service, "runs/log-metric",
            {{"run_id", run}, {"key", "loss"}, {"value", value}, {"timestamp", 1000 + i}, {"step", i}});
      constexpr const char* kStatus[] = {"FINISHED", "FAILED", "KILLED"};
      if (i % 4 != 0) ask(*service, "runs/update", {{"run_id", run}, {"status", kStatus[i % 3]}});
      if (i % 8 == 5) ask(*service, "runs/delete", {{"run_id", run}});
    }
    for (int i = 0; i < 10; ++i) put_native(i, i % 2 == 0);
    ask(*service, "runs/set-tag", {{"run_id", "native-3"}, {"key", "team"}, {"value", "a"}});
    EXPECT_TRUE(service->close().empty());
  }

  static constexpr std::string_view kUrl = "memory://searched";
  const std::string folder_ =
      std::filesystem::temp_directory_path() / ("headrace-" + hex64(random_name_bits()));
  std::atomic<std::int64_t> now_ms_ = 1'795'000'000'000;
  StoreRegistry stores_{Environment{}};
  const std::shared_ptr<ReadCountingStore> store_;
  std::vector<std::string> remarks_;
};

TEST_F(RunSearchTest, AnswersAreThoseOfASearchThatReadsAllRecords) {
  make_runs();
  const auto with_index = indexed(), without = serve(std::nullopt);
  const std::vector<std::string> filters = {"",
                                            "metrics.loss < 1",
                                            "metrics.loss != 0.5",
                                            "metrics.rare = 3",
                                            "metrics.other >= 1 AND params.lr LIKE '0.%'",
                                            "tags.team = 'a'",
                                            "tags.team ILIKE 'b'",
                                            "tags.team IS NULL",
                                            "tags.team != 'a' AND attributes.status = 'FINISHED'",
                                            "params.lr = '0.3'",
                                            "params.name = 'n3'",
                                            "tags.headrace.command = 'log'",
                                            "attributes.run_name LIKE 'n%'",
                                            "attributes.user_id = 'me'",
                                            "attributes.end_time > 1",
                                            "attributes.start_time > 1795000000010",
                                            "attributes.artifact_uri LIKE '%native%'",
                                            "run_id IN ('native-1', 'native-4')"};
  const std::vector<std::vector<std::string>> orders = {
      {},
      {"metrics.loss"},
      {"metrics.loss DESC"},
      {"params.lr DESC", "metrics.loss"},
      {"tags.team"},
      {"attributes.status DESC"},
      {"end_time"},
      {"attributes.run_name"},
  };
  for (const std::string& filter : filters) {
    for (const auto& order : orders) {
      for (const std::string stage : {"ACTIVE_ONLY", "DELETED_ONLY", "ALL"}) {
        if (stage != "ALL" && !order.empty()) continue;
        EXPECT_EQ(search(*with_index, filter, order, stage), search(*without, filter, order, stage))
            << filter << " by " << (order.empty() ? "" : order[0]) << " of " << stage;
      }
    }
  }
  EXPECT_GE(ids(search(*with_index, "")).size(), 30U);
  EXPECT_TRUE(remarks_.empty()) << remarks_[0];
}

TEST_F(RunSearchTest, PagesAreThoseOfOneOrder) {
  make_runs();
  const auto with_index = indexed(), without = serve(std::nullopt);
  Json fields = {{"experiment_ids", Json::array({"0", "1"})}, {"order_by", Json::array({"metrics.loss"})}};
  const std::vector<std::string> all = ids(ask(*without, "runs/search", fields));
  fields["max_results"] = 7;
  std::vector<std::string> found;
  for (int page = 0; page < 20; ++page) {
    const Json answer = ask(*with_index, "runs/search", fields);
    EXPECT_EQ(answer, ask(*without, "runs/search", fields));
    for (std::string& id : ids(answer)) found.push_back(std::move(id));
    fields["page_token"] = answer["next_page_token"];
    if (fields["page_token"].is_null()) break;
  }
  EXPECT_EQ(found, all);
}

TEST_F(RunSearchTest, AServiceThatStartsAgainReadsOnlyWhatIsNew) {
  make_runs();
  ids(search(*indexed(), "metrics.loss < 1"));
  const auto again = indexed();
  store_->reads = 0;
  search(*again, "metrics.loss < 1");
  EXPECT_EQ(store_->reads, 1);  // the experiments
  put_native(40, true);
  EXPECT_EQ(ids(search(*again, "metrics.rare = 3 AND run_id = 'native-40'")).size(), 1U);
  EXPECT_LE(store_->reads, 1 + 4);
}

TEST_F(RunSearchTest, TheNextSearchSeesAnOwnWrite) {
  const auto service = indexed();
  ask(*service, "experiments/create", {{"name", "cats"}});
  const auto count = [&](const std::string& filter, const std::string& stage = "ACTIVE_ONLY") {
    return ids(search(*service, filter, {}, stage)).size();
  };
  const std::string run = create(*service, "1");
  EXPECT_EQ(count(""), 1U);
  for (const double loss : {0.5, 0.25}) {  // the run is open: its points are not in the store
    ask(*service, "runs/log-metric",
        {{"run_id", run}, {"key", "loss"}, {"value", loss}, {"timestamp", 1}, {"step", 10 - 8 * loss}});
    EXPECT_EQ(count(concat("metrics.loss = ", loss)), 1U);
  }
  for (const char* const value : {"a", "b"}) {
    ask(*service, "runs/set-tag", {{"run_id", run}, {"key", "team"}, {"value", value}});
    EXPECT_EQ(count(concat("tags.team = '", value, "'")), 1U);
  }
  ask(*service, "runs/delete-tag", {{"run_id", run}, {"key", "team"}});
  EXPECT_EQ(count("tags.team IS NULL"), 1U);
  ask(*service, "runs/update", {{"run_id", run}, {"status", "FINISHED"}});
  EXPECT_EQ(count("attributes.status = 'FINISHED' AND metrics.loss = 0.25"), 1U);
  ask(*service, "runs/delete", {{"run_id", run}});
  EXPECT_EQ(count(""), 0U);
  EXPECT_EQ(count("", "DELETED_ONLY"), 1U);
  ask(*service, "runs/restore", {{"run_id", run}});
  ask(*service, "experiments/delete", {{"experiment_id", "1"}});
  EXPECT_EQ(count(""), 0U);
  EXPECT_EQ(count("metrics.loss = 0.25", "ALL"), 1U);
  EXPECT_TRUE(remarks_.empty()) << remarks_[0];
}

TEST_F(RunSearchTest, WithoutAFolderForTheIndexSearchesAreAnswered) {
  std::filesystem::create_directories(folder_);
  std::filesystem::create_symlink("/dev/null", folder_ + "/cache");  // not a folder
  const auto service = indexed();
  const std::string run = create(*service, "0");
  EXPECT_EQ(ids(search(*service, "")), std::vector<std::string>{run});
  EXPECT_EQ(remarks_.size(), 1U);
}

}  // namespace
}  // namespace headrace::mlflow

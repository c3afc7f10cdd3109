// Searches of runs: answers from the index are those of a search that reads all records.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <random>
#include <tuple>

#include "headrace/base/environment.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/history/history.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/segment.h"
#include "headrace/mlflow/service.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/track/json_number.h"
#include "headrace/track/run_keys.h"

namespace headrace::mlflow {
namespace {

class ReadCountingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    ++reads;
    if (key.find(unreadable) != key.npos) return Error{Code::kUnavailable, "the store is away"};
    return ForwardingStore::read_into(key, target, options);
  }
  std::atomic<int> reads = 0;
  std::string unreadable = "//";  // keys with this are refused
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

  static ApiAnswer answer_to(TrackingService& service, std::string_view path, const Json& fields) {
    std::string body = fields.dump();
    const std::size_t size = body.size();
    body.append(kBodyPaddingBytes, '\0');
    return service.answer({.method = "POST",
                           .target = concat("/api/2.0/mlflow/", path),
                           .body = std::string_view(body).substr(0, size)},
                          {});
  }
  static Json ask(TrackingService& service, std::string_view path, const Json& fields) {
    const ApiAnswer answer = answer_to(service, path, fields);
    EXPECT_EQ(answer.status, 200U) << path << fields.dump() << answer.body;
    return *parse_json(answer.body);
  }
  static Json get(TrackingService& service, const std::string& run) {
    const ApiAnswer answer =
        service.answer({.method = "GET", .target = concat("/api/2.0/mlflow/runs/get?run_id=", run)}, {});
    EXPECT_EQ(answer.status, 200U) << run << answer.body;
    return (*parse_json(answer.body))["run"];
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
  void put_native(int number, bool has_segments, bool is_log_ended = true) {
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
      const Bytes segment = encode_segment({.first = 0, .last = 9, .is_end = is_log_ended}, names, points);
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

// Its program could not wait for the store, and `recover` brings the rest later.
TEST_F(RunSearchTest, PointsThatComeAfterTheEndOfARunAreSeen) {
  put_native(1, true, false);
  const auto service = indexed();
  const auto count = [&](const std::string& filter) { return ids(search(*service, filter)).size(); };
  EXPECT_EQ(count("metrics.rare = 3"), 1U);
  const auto begun = std::chrono::system_clock::time_point(std::chrono::seconds(1'795'000'001));
  const std::string log = concat(kMetricsPrefix, "native-1/", make_part_name(0, begun, 7), "/");
  const std::vector<std::string> names = {"rare"};
  const std::vector<MetricPoint> points = {{0, 2, 0, 4.0}};
  const Bytes segment = encode_segment({.first = 10, .last = 10, .is_end = true}, names, points);
  ASSERT_TRUE(store_->write(concat(log, segment_name(10, 10)), segment, {}));
  EXPECT_EQ(count("metrics.rare = 4"), 1U);
  EXPECT_EQ(search(*service, "metrics.rare = 4"), search(*serve(std::nullopt), "metrics.rare = 4"));
  store_->reads = 0;
  EXPECT_EQ(count("metrics.rare = 4"), 1U);  // now they are kept
  EXPECT_LE(store_->reads, 1);
}

TEST_F(RunSearchTest, ASearchThatFailsKeepsThePointsThatItRead) {
  constexpr int kRuns = 300;
  for (int i = 0; i < kRuns; ++i) put_native(i, true);
  const auto service = indexed();
  store_->unreadable = concat(kMetricsPrefix, "native-99/");  // the last one, by name
  const Json fields = {{"experiment_ids", Json::array({"0"})}, {"filter", "metrics.rare = 3"}};
  EXPECT_NE(answer_to(*service, "runs/search", fields).status, 200U);
  store_->unreadable = "//";
  store_->reads = 0;
  EXPECT_EQ(ids(ask(*service, "runs/search", fields)).size(), std::size_t(kRuns));
  EXPECT_LT(store_->reads, kRuns / 2);
  EXPECT_GT(store_->reads, 1);
}

TEST_F(RunSearchTest, AStateGoesWithItsRun) {
  const auto tag = [&](const std::string& value) {
    ask(*serve(std::nullopt), "runs/set-tag", {{"run_id", "native-1"}, {"key", "team"}, {"value", value}});
  };
  put_native(1, false);
  const auto service = indexed();
  for (const char* const team : {"a", "b"}) {
    tag(team);
    EXPECT_EQ(ids(search(*service, concat("tags.team = '", team, "'"))).size(), 1U);
  }
  std::vector<std::string> keys;
  ASSERT_TRUE(store_->list("_headrace/", {}, [&](const ObjectInfo& object) {
    if (object.key.find("native-1") != object.key.npos) keys.push_back(object.key);
    return true;
  }));
  for (const std::string& key : keys) ASSERT_TRUE(remove_object(*store_, key));
  EXPECT_EQ(ids(search(*service, "")).size(), 0U);
  put_native(1, false);
  tag("c");
  EXPECT_EQ(ids(search(*service, "tags.team = 'c'")).size(), 1U);
}

// A search, and the same in the words of this test.
struct Searched {
  std::string filter;
  std::function<bool(const Json& run)> keeps;
  std::string ordered_metric{};  // empty: by start
  bool is_ascending = true;
};

// The member `value` of the one that has this key; null: none has it.
Json value_in(const Json& pairs, std::string_view key) {
  for (const Json& pair : pairs.values()) {
    if (pair["key"] == Json(key)) return pair["value"];
  }
  return {};
}

// Changes runs at random, by two servers and by other programs.
class RandomRunSearchTest : public RunSearchTest, public testing::WithParamInterface<int> {
 protected:
  static constexpr const char* kTeams[] = {"a", "B", "b%", "O'Neil"};

  std::size_t draw(std::size_t below) { return random_() % below; }
  std::string any_run() { return runs_[draw(runs_.size())]; }

  void log_point(TrackingService& service) {
    const Json values[] = {"NaN", "Infinity", "-Infinity", 0.5 * static_cast<double>(draw(6)), -1.5};
    answer_to(service, "runs/log-metric",
              {{"run_id", served_[draw(served_.size())]},
               {"key", draw(2) ? "loss" : "rare"},
               {"value", values[draw(5)]},
               {"timestamp", 1000 + draw(5)},
               {"step", draw(5)}});
  }

  // Some changes are refused: of deleted runs, or of runs of other programs.
  void change_anything(TrackingService& service) {
    const std::size_t kind = draw(10);
    if (runs_.empty() || kind == 0) {
      answer_to(service, "experiments/restore", {{"experiment_id", "1"}});
      runs_.push_back(create(service, concat(draw(2))));
      served_.push_back(runs_.back());
    } else if (kind == 1 && next_native_ < 60) {
      put_native(next_native_, draw(2) == 0, draw(2) == 0);
      runs_.push_back(concat("native-", next_native_++));
    } else if (kind == 2) {
      const char* const path = draw(2) ? "runs/delete" : "runs/restore";
      ask(service, path, {{"run_id", any_run()}});
    } else if (kind == 3) {
      const std::string path = draw(3) ? "experiments/restore" : "experiments/delete";
      answer_to(service, path, {{"experiment_id", "1"}});
    } else if (kind < 6) {
      answer_to(service, "runs/set-tag",
                {{"run_id", any_run()}, {"key", "team"}, {"value", kTeams[draw(4)]}});
    } else if (kind == 6 && !served_.empty()) {
      const char* const status = draw(2) ? "FINISHED" : draw(2) ? "KILLED" : "RUNNING";
      answer_to(service, "runs/update", {{"run_id", served_[draw(served_.size())]}, {"status", status}});
    } else if (!served_.empty()) {
      answer_to(service, "runs/log-parameter",
                {{"run_id", any_run()}, {"key", "lr"}, {"value", concat("0.", draw(4))}});
      log_point(service);
    }
  }

  Searched any_search() {
    Searched out;
    const double limit = 0.5 * static_cast<double>(draw(6));
    const std::string metric = draw(2) ? "loss" : "rare", team = kTeams[draw(4)];
    const auto metric_of = [metric](const Json& run) { return value_in(run["data"]["metrics"], metric); };
    const auto number_of = [](const Json& value) {
      return value.is_number() ? value.as<double>() : number_from_json(value);
    };
    const auto tag_of = [](const Json& run) { return value_in(run["data"]["tags"], "team"); };
    switch (draw(6)) {
      case 0:
        out.filter = concat("metrics.", metric, " <= ", limit);
        out.keeps = [=](const Json& run) {
          return !metric_of(run).is_null() && number_of(metric_of(run)) <= limit;
        };
        break;
      case 1:
        out.filter = concat("metrics.", metric, " != ", limit);
        out.keeps = [=](const Json& run) {
          return !metric_of(run).is_null() && number_of(metric_of(run)) != limit;
        };
        break;
      case 2:
        out.filter = concat("tags.team = \"", team, "\"");
        out.keeps = [=](const Json& run) { return tag_of(run) == Json(team); };
        break;
      case 3:
        out.filter = "tags.team IS NULL AND params.lr = '0.1'";
        out.keeps = [=](const Json& run) {
          return tag_of(run).is_null() && value_in(run["data"]["params"], "lr") == Json("0.1");
        };
        break;
      case 4:
        out.filter = "status != 'RUNNING'";
        out.keeps = [](const Json& run) { return run["info"]["status"] != Json("RUNNING"); };
        break;
      default:
        out.keeps = [](const Json&) { return true; };
    }
    if (draw(3) == 0) return out;
    out.ordered_metric = draw(2) ? "loss" : "rare";
    out.is_ascending = draw(2) == 0;
    return out;
  }

  // Missing values last, NaN before them; then the newest first.
  static bool comes_before(const Json& one, const Json& other, const Searched& search) {
    const auto key = [&](const Json& run) {
      const Json value = value_in(run["data"]["metrics"], search.ordered_metric);
      const double number = value.is_null()     ? 0
                            : value.is_number() ? value.as<double>()
                                                : number_from_json(value);
      const int rank = value.is_null() ? 2 : std::isnan(number) ? 1 : 0;
      return std::tuple(rank,
                        rank > 0              ? 0.0
                        : search.is_ascending ? number
                                              : -number,
                        -run["info"]["start_time"].as<std::int64_t>(), run["info"]["run_id"].text());
    };
    return key(one) < key(other);
  }

  // The answer that a search shall give: by asking for every run.
  std::vector<Json> found_among_all(TrackingService& service, const Searched& search,
                                    const std::string& stage) {
    std::vector<Json> found;
    for (const std::string& run : runs_) {
      Json shown = get(service, run);
      const bool is_deleted = shown["info"]["lifecycle_stage"] == Json("deleted");
      const bool is_wanted = stage == "ALL" || is_deleted == (stage == "DELETED_ONLY");
      if (is_wanted && search.keeps(shown)) found.push_back(std::move(shown));
    }
    std::ranges::sort(found,
                      [&](const Json& one, const Json& other) { return comes_before(one, other, search); });
    return found;
  }

  void compare(TrackingService& service) {
    const Searched search = any_search();
    const std::string stage = draw(2) ? "ACTIVE_ONLY" : draw(2) ? "ALL" : "DELETED_ONLY";
    Json fields = {{"experiment_ids", Json::array({"0", "1"})},
                   {"filter", search.filter},
                   {"run_view_type", stage},
                   {"max_results", 1 + draw(9)}};
    if (!search.ordered_metric.empty()) {
      fields["order_by"] =
          Json::array({concat("metrics.", search.ordered_metric, search.is_ascending ? " ASC" : " DESC")});
    }
    std::vector<Json> found;
    do {
      const Json answer = ask(service, "runs/search", fields);
      for (const Json& run : answer["runs"].values()) found.push_back(run);
      fields["page_token"] = answer["next_page_token"];
    } while (!fields["page_token"].is_null() && found.size() <= runs_.size());
    EXPECT_EQ(found, found_among_all(service, search, stage)) << fields.dump();
  }

  std::mt19937_64 random_{static_cast<std::uint64_t>(GetParam())};
  std::vector<std::string> runs_;
  std::vector<std::string> served_;  // those that a server made
  int next_native_ = 0;
};

TEST_P(RandomRunSearchTest, ASearchFindsWhatAskingForEveryRunFinds) {
  std::unique_ptr<TrackingService> services[] = {indexed(), indexed()};
  ask(*services[0], "experiments/create", {{"name", "cats"}});
  for (int step = 0; step < 80; ++step) {
    std::unique_ptr<TrackingService>& service = services[draw(2)];
    change_anything(*service);
    if (draw(30) == 0) {
      EXPECT_TRUE(service->close().empty());
      service = indexed();
    }
    if (draw(3) == 0) compare(*services[draw(2)]);
  }
  for (const auto& service : services) EXPECT_TRUE(service->close().empty());
  for (int i = 0; i < 20; ++i) compare(*services[draw(2)]);
  EXPECT_TRUE(remarks_.empty()) << remarks_[0];
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRunSearchTest, testing::Range(0, 4));

}  // namespace
}  // namespace headrace::mlflow

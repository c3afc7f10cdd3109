// Searches, histories and lists of runs.

#include <algorithm>
#include <set>

#include "headrace/base/text.h"
#include "headrace/mlflow/names.h"
#include "headrace/mlflow/runs.h"
#include "headrace/mlflow/state_text.h"
#include "headrace/os/parallel.h"
#include "headrace/track/json_number.h"

namespace headrace::mlflow {
namespace {

constexpr int kRunReaders = 8;
constexpr std::int64_t kRunsPerPage = 50'000;
constexpr std::int64_t kDefaultRuns = 1000;
constexpr std::int64_t kPointsPerPage = 1'000'000;
constexpr std::string_view kRankMark = "/rank-";

Result<std::size_t> page_size(const RequestFields& fields, std::int64_t otherwise, std::int64_t most) {
  HEADRACE_TRY(const auto given, fields.integer("max_results"));
  const std::int64_t limit = given.value_or(otherwise);
  if (limit >= 1 && limit <= most) return static_cast<std::size_t>(limit);
  return Error{Code::kInvalidArgument,
               concat("max_results is ", limit, "; it is an integer from 1 to ", most)};
}

Result<RunSearch> read_search(const RequestFields& fields) {
  HEADRACE_TRY(const std::string text, fields.text("filter"));
  HEADRACE_TRY(const std::vector<std::string> order_texts, fields.texts("order_by"));
  HEADRACE_TRY(const std::string stage, fields.text("run_view_type"));
  RunSearch search;
  HEADRACE_TRY(search.filter, SearchFilter::parse(text, run_target()));
  HEADRACE_TRY(search.page_token, fields.text("page_token"));
  HEADRACE_TRY(search.limit, page_size(fields, kDefaultRuns, kRunsPerPage));
  HEADRACE_TRY(search.experiments, fields.texts("experiment_ids"));
  for (const std::string& each : order_texts) {
    HEADRACE_TRY(search.orders.emplace_back(), parse_order(each, run_target()));
  }
  search.orders.push_back({{Entity::kAttribute, "start_time"}, false});
  search.orders.push_back({{Entity::kAttribute, "run_id"}, true});
  search.wants_deleted = stage == "ALL" || stage == "3" || stage == "DELETED_ONLY" || stage == "2";
  search.wants_active = stage != "DELETED_ONLY" && stage != "2";
  return search;
}

// The metric of that name of the lowest rank that has it; NAME/rank-N: of that rank.
Result<MetricSeries> read_metric(const RunRecord& record, const RunMetrics& metrics, const std::string& key) {
  std::set<std::uint64_t> ranks;
  for (const RunPart& part : record.parts) ranks.insert(part.start.rank);
  for (const std::uint64_t rank : ranks) {
    HEADRACE_TRY(MetricSeries series, metrics.read(key, rank));
    if (!series.values.empty()) return series;
  }
  const std::size_t mark = key.rfind(kRankMark);
  const auto rank = mark == key.npos
                        ? std::nullopt
                        : parse_number<std::uint64_t>(std::string_view(key).substr(mark + kRankMark.size()));
  if (!rank || !ranks.contains(*rank)) return MetricSeries{};
  return metrics.read(key.substr(0, mark), *rank);
}

std::string history_text(const std::string& run, const std::string& key, const MetricSeries& series,
                         const ListPage& page) {
  const std::string begin =
      concat("{\"key\":", Json(key).dump(), ",\"run_id\":", Json(run).dump(), ",\"value\":");
  std::string out = "{\"metrics\":[";
  for (std::size_t i = page.begin; i < page.end; ++i) {
    if (i != page.begin) out += ',';
    out += concat(begin, canonical_json(number_to_json(series.values[i])),
                  ",\"timestamp\":", series.times_us[i] / 1000, ",\"step\":", series.steps[i], "}");
  }
  out += ']';
  if (!page.next_token.empty()) out += concat(",\"next_page_token\":\"", page.next_token, "\"");
  return out + "}";
}

}  // namespace

Result<std::vector<RunView>> Runs::wanted_runs(const RunSearch& search, const CallOptions& call) {
  const std::set<std::string> wanted(search.experiments.begin(), search.experiments.end());
  HEADRACE_TRY(const auto records, records_.all(call));
  const auto log_of_name = [&](const std::string& run) {
    return check_run_id(run) ? log_named(run) : nullptr;
  };
  HEADRACE_CHECK(load_latest_states(root_.at(concat(kStatesFolder, "/runs")), log_of_name, warn_, call));
  HEADRACE_TRY(const ExperimentList experiments, experiments_.load(call));
  std::vector<std::pair<RecordPointer, State>> chosen;
  for (const auto& [run, record] : records) {
    if (!check_run_id(run)) continue;
    State state = log_named(run)->known();
    if (!wanted.contains(experiment_of(*state))) continue;
    if (is_run_deleted(*state, experiments) ? search.wants_deleted : search.wants_active)
      chosen.emplace_back(record, std::move(state));
  }
  std::vector<RunView> runs(chosen.size());
  HEADRACE_CHECK(parallel_for(kRunReaders, chosen.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(runs[i], view(chosen[i].first, chosen[i].second, experiments, call));
    return {};
  }));
  return runs;
}

Result<Json> Runs::search(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const RunSearch search, read_search(fields));
  HEADRACE_TRY(std::optional<Json> indexed, search_index(search, call));
  if (indexed) return *std::move(indexed);
  HEADRACE_TRY(std::vector<RunView> runs, wanted_runs(search, call));
  std::vector<SortedRun> sorted;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto values_of = [&](const SearchColumn& column) { return run_values(runs[i], column); };
    if (search.filter.matches(values_of)) sorted.push_back({i, order_keys(runs[i], search.orders)});
  }
  sort_runs(sorted, search.orders);
  HEADRACE_TRY(const ListPage page, find_page(sorted.size(), search.page_token, search.limit));
  Json::Array out;
  for (std::size_t i = page.begin; i < page.end; ++i) out.push_back(run_to_json(runs[sorted[i].place]));
  Json answer = {{"runs", std::move(out)}};
  if (!page.next_token.empty()) answer["next_page_token"] = page.next_token;
  return answer;
}

Result<std::string> Runs::metric_history(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(const std::string key, fields.required_text("metric_key"));
  HEADRACE_TRY(const std::string token, fields.text("page_token"));
  HEADRACE_TRY(const std::size_t limit, page_size(fields, kPointsPerPage, kPointsPerPage));
  HEADRACE_CHECK(check_run_id(run));
  if (const PartPointer part = open_.find(run); part != nullptr) HEADRACE_CHECK(part->publish());
  HEADRACE_TRY(const RecordPointer record, records_.one(run, call));
  MetricSeries series;
  if (has_series(*record)) {
    HEADRACE_TRY(const MetricsPointer metrics, records_.metrics(*record, call));
    HEADRACE_TRY(series, read_metric(*record, *metrics, key));
  }
  if (series.values.empty() && record->end && record->end->metrics.contains(key)) {
    series.steps = {0};
    series.times_us = {milliseconds_of(record->end->ended).value_or(0) * 1000};
    series.values = {record->end->metrics.at(key)};
  }
  HEADRACE_TRY(const ListPage page, find_page(series.values.size(), token, limit));
  return history_text(run, key, series, page);
}

Result<Json> Runs::list_artifacts(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string run, fields.run_id());
  HEADRACE_TRY(const std::string path, fields.text("path"));
  HEADRACE_TRY(const RunView view, view_of(run, call));
  const std::string folder = artifact_folder(run, *view.state, experiments_.known());
  if (folder.empty()) {
    return Error{Code::kUnimplemented, concat("the artifacts of the run lie at ", view.artifact_uri,
                                              ", which this server does not "
                                              "serve: list them there")};
  }
  HEADRACE_TRY(Json files, list_artifact_files(root_.at(folder), path, path, call));
  return Json({{"root_uri", view.artifact_uri}, {"files", std::move(files)}});
}

}  // namespace headrace::mlflow

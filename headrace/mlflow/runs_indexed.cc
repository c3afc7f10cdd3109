// Run searches answered from the local index: docs/decisions/run-index.md.

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/mlflow/runs.h"
#include "headrace/os/parallel.h"
#include "headrace/track/recorder.h"

namespace headrace::mlflow {
namespace {

constexpr int kViewsAtOnce = 8;
constexpr std::size_t kExperimentsPerQuery = 1000;
constexpr std::size_t kMostFound = std::size_t{1} << 40;
constexpr std::int64_t kRunsAtOnce = 256;  // runs whose points are read and kept together

// Whether the index can answer the search: it must know all columns.
bool is_for_index(const RunSearch& search) {
  const auto is_unknown = [](const SearchColumn& column) {
    return column.entity == Entity::kDataset ||
           (column.entity == Entity::kAttribute && column.key == "artifact_uri");
  };
  return search.experiments.size() <= kExperimentsPerQuery &&
         std::ranges::none_of(search.filter.clauses(), is_unknown, &FilterClause::column) &&
         std::ranges::none_of(search.orders, is_unknown, &SearchOrder::column);
}

Result<MlflowQuery> query_of(const RunSearch& search, const ExperimentList& experiments) {
  HEADRACE_TRY(const ListPage place, find_page(kMostFound, search.page_token, search.limit));
  MlflowQuery query{.filter = search.filter,
                    .orders = search.orders,
                    .experiments = search.experiments,
                    .wants_active = search.wants_active,
                    .wants_deleted = search.wants_deleted,
                    .most = place.end + 1};  // one more, which shows whether another page follows
  for (const std::string& id : search.experiments) {
    if (experiments.is_deleted(id)) query.deleted_experiments.push_back(id);
  }
  return query;
}

// Whether the index may keep the run's points after they are read.
bool may_keep(const MlflowQuery& query, const MlflowRun& run) {
  return !run.points && has_ended(run.record) &&
         std::ranges::find(query.changing_runs, run.record.id) == query.changing_runs.end();
}

}  // namespace

// Runs of the index, and their views for MLflow.
struct Runs::IndexedViews {
  std::vector<FoundMlflowRun> found{};
  std::vector<MlflowRun> runs{};
  std::vector<RunView> views{};

  // REQUIRES: within a snapshot
  Status add(RunIndex& index, FoundMlflowRun run) {
    HEADRACE_TRY(runs.emplace_back(), index.mlflow_run(run));
    found.push_back(std::move(run));
    return {};
  }
};

Status Runs::refresh(RunIndex& index, const CallOptions& call) {
  HEADRACE_TRY(RefreshReport report, index.refresh_records(root_, call));
  for (const std::string& message : report.damaged) warn_(concat("left out a run: ", message));
  HEADRACE_TRY(report, index.refresh_states(root_, call));
  for (const std::string& message : report.damaged) warn_(message);
  return {};
}

// Like `view`, but takes the points from the index if it has them and no part of the run is open here.
Result<RunView> Runs::indexed_view(const MlflowRun& run, const ExperimentList& experiments,
                                   const CallOptions& call) {
  const auto record = std::make_shared<const RunRecord>(run.record);
  State state = std::make_shared<const Json>(run.state);
  if (!run.points || open_.find(run.record.id) != nullptr)
    return view(record, std::move(state), experiments, call);
  RunView out = bare_view(record, std::move(state), experiments);
  out.points = *run.points;
  return out;
}

Status Runs::read_views(IndexedViews& all, const ExperimentList& experiments, const CallOptions& call) {
  all.views.resize(all.runs.size());
  return parallel_for(kViewsAtOnce, all.runs.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(all.views[i], indexed_view(all.runs[i], experiments, call));
    return {};
  });
}

Status Runs::keep_points(RunIndex& index, const MlflowQuery& query, const IndexedViews& all) {
  for (std::size_t i = 0; i < all.runs.size(); ++i) {
    if (may_keep(query, all.runs[i]) && !all.views[i].may_get_points)
      HEADRACE_CHECK(index.keep_points(all.found[i], all.runs[i], all.views[i].points));
  }
  return {};
}

// Reads the points of ended runs that the query needs and the index lacks. Each group is kept at once, so
// that a search that is interrupted leaves less to do. No snapshot stays open while the store is read.
Status Runs::settle(RunIndex& index, const MlflowQuery& query, const ExperimentList& experiments,
                    const CallOptions& call) {
  if (!query.names_metrics()) return {};
  for (std::int64_t after = 0;;) {
    std::vector<FoundMlflowRun> found;
    IndexedViews lacking;
    const auto look_up = [&]() -> Status {
      HEADRACE_TRY(found, index.unsettled_mlflow_runs(query, after, kRunsAtOnce));
      for (const FoundMlflowRun& each : found) {
        HEADRACE_CHECK(lacking.add(index, each));
        if (may_keep(query, lacking.runs.back())) continue;
        lacking.runs.pop_back();
        lacking.found.pop_back();
      }
      return {};
    };
    HEADRACE_CHECK(index.in_snapshot(look_up));
    if (found.empty()) return {};
    after = found.back().number;
    HEADRACE_CHECK(read_views(lacking, experiments, call));
    HEADRACE_CHECK(keep_points(index, query, lacking));
  }
}

Result<Json> Runs::search_in(RunIndex& index, const MlflowQuery& query, const RunSearch& search,
                             const ExperimentList& experiments, const CallOptions& call) {
  IndexedViews others, shown;
  Json answer = {{"runs", Json::array()}};
  const auto read = [&]() -> Status {
    HEADRACE_TRY(const std::vector<FoundMlflowRun> found, index.find_mlflow_runs(query));
    HEADRACE_TRY(const std::vector<FoundMlflowRun> unsettled, index.unsettled_mlflow_runs(query));
    for (const FoundMlflowRun& each : unsettled) HEADRACE_CHECK(others.add(index, each));
    HEADRACE_CHECK(read_views(others, experiments, call));
    std::vector<SortedRun> sorted;  // the runs that were found, then the others
    for (std::size_t i = 0; i < found.size(); ++i) sorted.push_back({i, found[i].keys});
    for (std::size_t i = 0; i < others.views.size(); ++i) {
      const RunView& run = others.views[i];
      if (search.filter.matches([&](const SearchColumn& column) { return run_values(run, column); }))
        sorted.push_back({found.size() + i, order_keys(run, search.orders)});
    }
    sort_runs(sorted, search.orders);
    HEADRACE_TRY(const ListPage page, find_page(sorted.size(), search.page_token, search.limit));
    if (!page.next_token.empty()) answer["next_page_token"] = page.next_token;
    for (std::size_t i = page.begin; i < page.end; ++i) {
      if (sorted[i].place < found.size()) HEADRACE_CHECK(shown.add(index, found[sorted[i].place]));
    }
    HEADRACE_CHECK(read_views(shown, experiments, call));
    auto next = shown.views.begin();
    for (std::size_t i = page.begin; i < page.end; ++i) {
      const std::size_t place = sorted[i].place;
      answer["runs"].push_back(
          run_to_json(place < found.size() ? *next++ : others.views[place - found.size()]));
    }
    return {};
  };
  HEADRACE_CHECK(index.in_snapshot(read));
  HEADRACE_CHECK(keep_points(index, query, others));
  HEADRACE_CHECK(keep_points(index, query, shown));
  return answer;
}

// nullopt: the index cannot answer.
Result<std::optional<Json>> Runs::search_index(const RunSearch& search, const CallOptions& call) {
  if (!is_for_index(search)) return std::optional<Json>();
  HEADRACE_TRY(const ExperimentList experiments, experiments_.load(call));
  HEADRACE_TRY(MlflowQuery query, query_of(search, experiments));
  // This comes before any request to the store: if a part ends in the meantime, its points are in the store,
  // or are looked up here.
  for (const PartPointer& part : open_.all()) query.changing_runs.push_back(part->run());
  std::optional<Json> answer;
  const auto use = [&](RunIndex& index) -> Status {
    HEADRACE_CHECK(refresh(index, call));
    HEADRACE_CHECK(settle(index, query, experiments, call));
    HEADRACE_TRY(answer, search_in(index, query, search, experiments, call));
    return {};
  };
  HEADRACE_TRY(const bool is_used, indexes_.use_kept(recorded_url(root_), use));
  return is_used ? std::move(answer) : std::nullopt;
}

}  // namespace headrace::mlflow

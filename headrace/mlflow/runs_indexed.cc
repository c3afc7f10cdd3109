// Searches that the local index of runs answers: docs/decisions/run-index.md.

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

// Whether the index knows the columns.
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
                    .most = place.end + 1};  // one more tells whether another page follows
  for (const std::string& id : search.experiments) {
    if (experiments.is_deleted(id)) query.deleted_experiments.push_back(id);
  }
  return query;
}

}  // namespace

// Runs of the index, as MLflow shows them.
struct Runs::IndexedViews {
  std::vector<FoundMlflowRun> found{};
  std::vector<MlflowRun> runs{};
  std::vector<RunView> views{};
};

Status Runs::refresh(RunIndex& index, const CallOptions& call) {
  HEADRACE_TRY(RefreshReport report, index.refresh_records(root_, call));
  for (const std::string& message : report.damaged) warn_(concat("left out a run: ", message));
  HEADRACE_TRY(report, index.refresh_states(root_, call));
  for (const std::string& message : report.damaged) warn_(message);
  return {};
}

// As `view`, with the points that the index has. Those of a part that is open here are added.
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

Result<Runs::IndexedViews> Runs::views_of(RunIndex& index, std::vector<FoundMlflowRun> found,
                                          const ExperimentList& experiments, const CallOptions& call) {
  IndexedViews out{.found = std::move(found)};
  for (const FoundMlflowRun& each : out.found) {
    HEADRACE_TRY(out.runs.emplace_back(), index.mlflow_run(each));
  }
  out.views.resize(out.runs.size());
  HEADRACE_CHECK(parallel_for(kViewsAtOnce, out.runs.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(out.views[i], indexed_view(out.runs[i], experiments, call));
    return {};
  }));
  return out;
}

Result<Json> Runs::search_in(RunIndex& index, const MlflowQuery& query, const RunSearch& search,
                             const ExperimentList& experiments, const CallOptions& call) {
  IndexedViews others, shown;
  Json answer = {{"runs", Json::array()}};
  HEADRACE_CHECK(index.in_snapshot([&]() -> Status {
    HEADRACE_TRY(const std::vector<FoundMlflowRun> found, index.find_mlflow_runs(query));
    HEADRACE_TRY(std::vector<FoundMlflowRun> unsettled, index.unsettled_mlflow_runs(query));
    HEADRACE_TRY(others, views_of(index, std::move(unsettled), experiments, call));
    std::vector<SortedRun> sorted;  // those that were found, then the others
    for (std::size_t i = 0; i < found.size(); ++i) sorted.push_back({i, found[i].keys});
    for (std::size_t i = 0; i < others.views.size(); ++i) {
      const RunView& run = others.views[i];
      if (search.filter.matches([&](const SearchColumn& column) { return run_values(run, column); }))
        sorted.push_back({found.size() + i, order_keys(run, search.orders)});
    }
    sort_runs(sorted, search.orders);
    HEADRACE_TRY(const ListPage page, find_page(sorted.size(), search.page_token, search.limit));
    if (!page.next_token.empty()) answer["next_page_token"] = page.next_token;
    std::vector<FoundMlflowRun> on_page;
    for (std::size_t i = page.begin; i < page.end; ++i) {
      if (sorted[i].place < found.size()) on_page.push_back(found[sorted[i].place]);
    }
    HEADRACE_TRY(shown, views_of(index, std::move(on_page), experiments, call));
    auto next = shown.views.begin();
    for (std::size_t i = page.begin; i < page.end; ++i) {
      const std::size_t place = sorted[i].place;
      answer["runs"].push_back(
          run_to_json(place < found.size() ? *next++ : others.views[place - found.size()]));
    }
    return {};
  }));
  for (const IndexedViews* const views : {&others, &shown}) {
    for (std::size_t i = 0; i < views->runs.size(); ++i) {
      const MlflowRun& run = views->runs[i];
      const bool is_changing =
          std::ranges::find(query.changing_runs, run.record.id) != query.changing_runs.end();
      if (run.points || is_changing || !has_ended(run.record)) continue;
      HEADRACE_CHECK(index.keep_points(views->found[i], run, views->views[i].points));
    }
  }
  return answer;
}

// None: the index cannot answer.
Result<std::optional<Json>> Runs::search_index(const RunSearch& search, const CallOptions& call) {
  if (!is_for_index(search)) return std::optional<Json>();
  HEADRACE_TRY(const ExperimentList experiments, experiments_.load(call));
  HEADRACE_TRY(MlflowQuery query, query_of(search, experiments));
  // Before the store is asked: the points of a part that ends meanwhile are in the store, or looked up here.
  for (const PartPointer& part : open_.all()) query.changing_runs.push_back(part->run());
  std::optional<Json> answer;
  const auto use = [&](RunIndex& index) -> Status {
    HEADRACE_CHECK(refresh(index, call));
    HEADRACE_TRY(answer, search_in(index, query, search, experiments, call));
    return {};
  };
  HEADRACE_TRY(const bool is_used, indexes_.use_kept(recorded_url(root_), use));
  return is_used ? std::move(answer) : std::nullopt;
}

}  // namespace headrace::mlflow

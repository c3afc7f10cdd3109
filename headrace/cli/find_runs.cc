#include "headrace/cli/find_runs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "headrace/base/text.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/run_index/open_index.h"
#include "headrace/track/recorder.h"

namespace headrace {

namespace {

constexpr std::size_t kMostWarnings = 20;

// A tracking root that is searched for runs.
struct AskedRoot {
  std::string url;
  std::optional<Location> location{};  // none: only its index is searched
  bool is_above = false;               // only runs that wrote to the place count
};

// The nearest root at or above the place, and those below it.
Result<std::vector<AskedRoot>> roots_of(CommandContext& context, const Location& location) {
  const auto below = tracking_roots_below(location, context.call());
  if (!below && below.error().code != Code::kPermissionDenied) return below.error();
  const bool is_root =
      below && std::ranges::any_of(*below, [&](const Location& root) { return root.key == location.key; });
  Location nearest = location;
  if (!is_root) {  // a folder above it may be one
    HEADRACE_TRY(nearest, tracking_root(location.at("run"), context.call()));
  }
  std::vector<AskedRoot> roots = {{recorded_url(nearest), nearest, nearest.key != location.key}};
  if (!below) {
    context.console.warn(concat("runs that are recorded below ", location.describe(),
                                " may be missing here: ", below.error().message));
    return roots;
  }
  for (const Location& root : *below) {
    if (root.key != nearest.key) roots.push_back({recorded_url(root), root});
  }
  return roots;
}

// The same, but only the roots that have an index on this machine.
std::vector<AskedRoot> indexed_roots_of(const IndexFolder& indexes, const std::string& url) {
  std::vector<AskedRoot> roots;
  std::string nearest;
  for (const std::string& root : indexes.roots()) {
    if (root.starts_with(url + "/")) roots.push_back({root});
    if ((url == root || url.starts_with(root + "/")) && root.size() > nearest.size()) nearest = root;
  }
  if (!nearest.empty()) roots.push_back({nearest, std::nullopt, nearest != url});
  return roots;
}

bool names_metrics(const TableRequest& request) {
  const auto is_metric = [](const SearchColumn& column) { return column.entity == Entity::kMetric; };
  return request.has_metrics || (request.order && is_metric(request.order->column)) ||
         std::ranges::any_of(request.filter.clauses(),
                             [&](const FilterClause& clause) { return is_metric(clause.column); });
}

// A store that refuses every record gives a message for each; the first few are enough.
void warn_of(CommandContext& context, const std::set<std::string>& damaged) {
  std::size_t shown = 0;
  for (const std::string& message : damaged) {
    if (shown++ == kMostWarnings) break;
    context.console.warn(message);
  }
  if (damaged.size() > kMostWarnings)
    context.console.warn(concat("… and ", damaged.size() - kMostWarnings, " more that cannot be read"));
}

// Runs of the roots that were searched so far.
struct FoundTable {
  std::vector<TableRun> runs;
  std::set<std::string> damaged;
  bool are_others = false;  // runs that wrote to other places
};

Status fill(RunIndex& index, const TableRequest& request, TableRun& row) {
  if (request.has_metrics) {
    HEADRACE_TRY(row.metrics, index.metrics(row.run, request.metric_names));
  }
  if (request.has_parameters) {
    HEADRACE_TRY(row.parameters, index.parameters(row.run));
  }
  if (request.has_records) {
    HEADRACE_TRY(row.record, index.record(row.run));
  }
  return {};
}

Status refresh(CommandContext& context, const Location& root, const TableRequest& request, RunIndex& index,
               std::optional<std::size_t> most, std::set<std::string>& damaged) {
  HEADRACE_TRY(RefreshReport report, index.refresh_records(root, context.call(), most));
  damaged.insert(report.damaged.begin(), report.damaged.end());
  HEADRACE_TRY(report, index.refresh_states(root, context.call()));
  damaged.insert(report.damaged.begin(), report.damaged.end());
  if (!names_metrics(request)) return {};
  HEADRACE_TRY(report, index.refresh_metrics(history_source(context)));
  damaged.insert(report.damaged.begin(), report.damaged.end());
  return {};
}

// For the first `unshown` runs, only their place in the order is read.
Status ask_root(CommandContext& context, const IndexFolder& indexes, const AskedRoot& root,
                const std::string& place, const TableRequest& request, std::size_t unshown,
                FoundTable& table) {
  RunQuery query{request.filter, request.order, request.offset + request.limit, root.is_above ? place : ""};
  const bool are_newest = query.filter.clauses().empty() && !query.order && query.output.empty();
  const auto most = are_newest ? std::optional(query.most) : std::nullopt;
  return indexes.use(root.url, [&](RunIndex& index) -> Status {
    FoundTable found;
    HEADRACE_CHECK(index.check(query));
    if (root.location) HEADRACE_CHECK(refresh(context, *root.location, request, index, most, found.damaged));
    const auto read = [&]() -> Status {
      HEADRACE_TRY(std::vector<IndexedRun> runs, index.find(query));
      found.runs.reserve(runs.size());
      for (IndexedRun& run : runs) {
        TableRun& row = found.runs.emplace_back(TableRun{root.location, std::move(run)});
        if (found.runs.size() > unshown) HEADRACE_CHECK(fill(index, request, row));
      }
      if (!found.runs.empty() || !root.is_above) return {};
      HEADRACE_TRY(runs, index.find({.most = 1}));
      found.are_others = !runs.empty();
      return {};
    };
    HEADRACE_CHECK(index.in_snapshot(read));
    if (table.runs.empty()) {
      table.runs = std::move(found.runs);
    } else {
      std::ranges::move(found.runs, std::back_inserter(table.runs));
    }
    table.damaged.merge(found.damaged);
    table.are_others = table.are_others || found.are_others;
    return {};
  });
}

Error nothing_found(const Location& location, const TableRequest& request, const std::string& nearest,
                    const FoundTable& table) {
  if (!request.refreshes && nearest.empty())
    return {Code::kNotFound, concat("this machine has no index of runs at ", location.describe(),
                                    ": leave out --no-refresh once")};
  if (!request.filter.clauses().empty() || request.offset > 0)
    return {Code::kNotFound, concat("--where and --offset leave no run at ", location.describe())};
  if (table.are_others)
    return {Code::kNotFound,
            concat("none of the runs recorded below ", nearest, " wrote to ", location.describe())};
  if (!table.damaged.empty())
    return {Code::kDataLoss,
            concat("no record of a run at ", location.describe(), " can be read; see the warnings")};
  return {Code::kNotFound, concat("no runs are recorded at, above or below ", location.describe())};
}

// The newest run that wrote to the URL itself; if there is none, the newest run that wrote below it.
// REQUIRES: there are runs, newest first
const TableRun& newest_run(const std::vector<TableRun>& runs, const std::string& url) {
  const auto found = std::ranges::find(runs, url, [](const TableRun& run) { return run.run.output; });
  return found == runs.end() ? runs.front() : *found;
}

void keep_writers_to(const Location& location, std::vector<RunRecord>& runs) {
  const std::string wanted = recorded_url(location);
  std::erase_if(runs, [&](const RunRecord& run) {
    return run.start.output != wanted && !run.start.output.starts_with(wanted + "/");
  });
}

// The run with that id; otherwise the only run whose id begins with it. `url` is the place that was given.
Result<const RunRecord*> run_named(const std::vector<RunRecord>& runs, const std::string& id,
                                   const std::string& url) {
  std::vector<const RunRecord*> matching;
  for (const RunRecord& run : runs) {
    if (run.id.starts_with(id)) matching.push_back(&run);
  }
  const auto has_id = [&](const RunRecord* run) { return run->id == id; };
  const bool is_whole_id = std::ranges::any_of(matching, has_id);
  if (is_whole_id) std::erase_if(matching, std::not_fn(has_id));  // "job-1", beside "job-10"
  if (matching.size() == 1) return matching[0];
  if (matching.empty())
    return Error{Code::kNotFound,
                 concat("no run ", id, " is recorded at ", url, "; headrace runs ls ", url, " lists them")};
  if (!is_whole_id)
    return Error{Code::kInvalidArgument,
                 concat("the ids of ", matching.size(), " runs begin with ", id, ": give more of the id")};
  std::vector<std::string> outputs;
  for (const RunRecord* run : matching) outputs.push_back(run->start.output);
  return Error{Code::kInvalidArgument, concat(matching.size(), " runs have the id ", id,
                                              ": give the output of one as the URL: ", join(outputs, ", "))};
}

// Runs at or below the place whose ids begin with `id`, from all roots; from the nearest root alone if it has
// exactly that id.
Result<RunList> runs_of_id(CommandContext& context, const Location& location, const std::string& id) {
  HEADRACE_TRY(const Location nearest, tracking_root(location.at("run"), context.call()));
  HEADRACE_TRY(RunList found, find_runs(nearest, id, context.call()));
  if (nearest.key != location.key) keep_writers_to(location, found.runs);
  if (found.runs.size() == 1 && found.runs[0].id == id) return found;
  HEADRACE_TRY(const std::vector<AskedRoot> roots, roots_of(context, location));  // lists everything below
  for (const AskedRoot& root : roots) {
    if (root.location->key == nearest.key) continue;
    HEADRACE_TRY(RunList more, find_runs(*root.location, id, context.call()));
    std::ranges::move(more.runs, std::back_inserter(found.runs));
    std::ranges::move(more.damaged, std::back_inserter(found.damaged));
  }
  return found;
}

}  // namespace

Result<std::vector<Location>> roots_near(CommandContext& context, const Location& location) {
  HEADRACE_TRY(const std::vector<AskedRoot> asked, roots_of(context, location));
  std::vector<Location> roots;
  for (const AskedRoot& root : asked) roots.push_back(*root.location);
  return roots;
}

Result<std::vector<TableRun>> table_at(CommandContext& context, const Location& location,
                                       const TableRequest& request) {
  const IndexFolder indexes(cache_folder(context.environment), context.stores.server_of(location.url),
                            [&](const std::string& message) { context.console.warn(message); });
  const std::string place = recorded_url(location);
  std::vector<AskedRoot> roots;
  if (request.refreshes) {
    HEADRACE_TRY(roots, roots_of(context, location));
  } else {
    roots = indexed_roots_of(indexes, place);
  }
  FoundTable table;
  const std::size_t unshown = roots.size() == 1 ? request.offset : 0;
  for (const AskedRoot& root : roots)
    HEADRACE_CHECK(ask_root(context, indexes, root, place, request, unshown, table));
  warn_of(context, table.damaged);
  std::vector<TableRun>& runs = table.runs;
  if (roots.size() > 1) {
    std::ranges::stable_sort(runs, [&](const TableRun& one, const TableRun& other) {
      return run_comes_before(one.run, other.run, request.order);
    });
  }
  runs.erase(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(std::min(request.offset, runs.size())));
  if (runs.size() > request.limit) runs.resize(request.limit);
  if (runs.empty()) return nothing_found(location, request, roots.empty() ? "" : roots[0].url, table);
  return std::move(runs);
}

Result<std::vector<RunRecord>> runs_at(CommandContext& context, const Location& location, std::size_t limit) {
  HEADRACE_TRY(std::vector<TableRun> found,
               table_at(context, location, {.limit = limit, .has_records = true}));
  std::vector<RunRecord> runs;
  for (auto run = found.rbegin(); run != found.rend(); ++run) runs.push_back(*std::move(run->record));
  return runs;
}

Result<RunRecord> run_at(CommandContext& context, const Location& location, const std::string& id) {
  if (id.empty()) {
    HEADRACE_TRY(const std::vector<TableRun> runs, table_at(context, location, {}));
    const TableRun& newest = newest_run(runs, recorded_url(location));
    return read_run(*newest.root, newest.run.id, context.call());
  }
  HEADRACE_TRY(const RunList found, runs_of_id(context, location, id));
  for (const std::string& message : found.damaged) context.console.warn(message);
  if (found.runs.empty() && !found.damaged.empty())
    return Error{Code::kDataLoss, concat("the record of the run ", id, " cannot be read; see the warnings")};
  HEADRACE_TRY(const RunRecord* const run, run_named(found.runs, id, location.describe()));
  return *run;
}

}  // namespace headrace

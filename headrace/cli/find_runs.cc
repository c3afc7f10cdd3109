#include "headrace/cli/find_runs.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "headrace/base/text.h"
#include "headrace/track/recorder.h"

namespace headrace {

namespace {

using ReadRuns = std::function<Result<RunList>(const Location& root)>;

// Those recorded below `location` in other roots than `nearest`.
Status add_runs_below(CommandContext& context, const Location& location, const Location& nearest,
                      const ReadRuns& read, RunList& list) {
  const auto roots = tracking_roots_below(location, context.call());
  if (!roots && roots.error().code == Code::kPermissionDenied) {
    context.console.warn(concat("runs that are recorded below ", location.describe(),
                                " may be missing here: ", roots.error().message));
    return {};
  }
  if (!roots) return roots.error();
  for (const Location& root : *roots) {
    if (root.key == nearest.key) continue;
    HEADRACE_TRY(RunList more, read(root));
    std::ranges::move(more.runs, std::back_inserter(list.runs));
    std::ranges::move(more.damaged, std::back_inserter(list.damaged));
  }
  return {};
}

// The newest `limit`, oldest first.
void keep_newest(std::size_t limit, std::vector<RunRecord>& runs) {
  std::ranges::stable_sort(runs, {}, [](const RunRecord& run) { return run.start.started; });
  if (runs.size() > limit) runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(limit));
}

void keep_writers_to(const Location& location, std::vector<RunRecord>& runs) {
  const std::string wanted = recorded_url(location);
  std::erase_if(runs, [&](const RunRecord& run) {
    return run.start.output != wanted && !run.start.output.starts_with(wanted + "/");
  });
}

// The newest one that wrote to the URL itself, else the newest that wrote below it.
// REQUIRES: there are runs, oldest first
const RunRecord& newest_run(const std::vector<RunRecord>& runs, const std::string& url) {
  const auto found =
      std::find_if(runs.rbegin(), runs.rend(), [&](const RunRecord& run) { return run.start.output == url; });
  return found == runs.rend() ? runs.back() : *found;
}

// The one with that id, else the only one whose id begins so. `url` is the place that was asked.
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
                 concat(matching.size(), " runs begin with ", id, ": give more of the id")};
  std::vector<std::string> outputs;
  for (const RunRecord* run : matching) outputs.push_back(run->start.output);
  return Error{Code::kInvalidArgument, concat(matching.size(), " runs have the id ", id,
                                              ": give the output of one as the URL: ", join(outputs, ", "))};
}

}  // namespace

Result<std::vector<Location>> roots_near(CommandContext& context, const Location& location) {
  // The root may be the URL itself: ask as for something in it.
  HEADRACE_TRY(const Location nearest, tracking_root(location.at("run"), context.call()));
  std::vector<Location> roots = {nearest};
  HEADRACE_TRY(const std::vector<Location> below, tracking_roots_below(location, context.call()));
  std::ranges::copy_if(below, std::back_inserter(roots),
                       [&](const Location& root) { return root.key != nearest.key; });
  return roots;
}

Result<RunList> runs_at(CommandContext& context, const Location& location, std::size_t limit) {
  // The root may be the URL itself: ask as for something in it.
  HEADRACE_TRY(const Location nearest, tracking_root(location.at("run"), context.call()));
  HEADRACE_TRY(RunList list, list_runs(nearest, limit, context.call()));
  const bool are_others = nearest.key != location.key && !list.runs.empty();
  if (nearest.key != location.key) keep_writers_to(location, list.runs);
  const auto read = [&](const Location& root) { return list_runs(root, limit, context.call()); };
  HEADRACE_CHECK(add_runs_below(context, location, nearest, read, list));
  keep_newest(limit, list.runs);
  for (const std::string& message : list.damaged) context.console.warn(message);
  if (!list.runs.empty()) return list;
  if (are_others)
    return Error{Code::kNotFound, concat("none of the runs recorded below ", nearest.describe(), " wrote to ",
                                         location.describe())};
  if (!list.damaged.empty())
    return Error{Code::kDataLoss,
                 concat("no record of a run at ", location.describe(), " can be read; see the warnings")};
  return Error{Code::kNotFound, concat("no runs are recorded at, above or below ", location.describe())};
}

Result<RunRecord> run_at(CommandContext& context, const Location& location, const std::string& id) {
  if (id.empty()) {
    HEADRACE_TRY(const RunList found, runs_at(context, location, kMaximumRuns));
    return newest_run(found.runs, recorded_url(location));
  }
  const auto read = [&](const Location& root) { return find_runs(root, id, context.call()); };
  HEADRACE_TRY(const Location nearest, tracking_root(location.at("run"), context.call()));
  HEADRACE_TRY(RunList found, read(nearest));
  if (nearest.key != location.key) keep_writers_to(location, found.runs);
  if (found.runs.size() == 1 && found.runs[0].id == id) return std::move(found.runs[0]);
  HEADRACE_CHECK(add_runs_below(context, location, nearest, read, found));  // lists all that is below
  for (const std::string& message : found.damaged) context.console.warn(message);
  if (found.runs.empty() && !found.damaged.empty())
    return Error{Code::kDataLoss, concat("the record of the run ", id, " cannot be read; see the warnings")};
  HEADRACE_TRY(const RunRecord* const run, run_named(found.runs, id, location.describe()));
  return *run;
}

}  // namespace headrace

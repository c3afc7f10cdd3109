#include "headrace/track/runs.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/run_views.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr std::size_t kMaximumRuns = 100'000;

constexpr Positional kRunsLsPositionals[] = {
    {.name = "URL",
     .sentence = "Shows the runs that wrote to this URL or below it, and all runs whose records lie at or "
                 "below it (in a folder _headrace/runs/). Lists everything below the URL to find them."}};

constexpr Option kRunsLsOptions[] = {
    {.name = "limit",
     .type = OptionType::kInteger,
     .default_value = "1000",
     .unit = "runs",
     .sentence = "Read only this many of the newest runs.",
     .minimum = 1,
     .maximum = static_cast<double>(kMaximumRuns)},
};

constexpr Positional kShowPositionals[] = {
    {.name = "URL", .sentence = "The output of the run, or a folder above it."},
    {.name = "RUN",
     .sentence =
         "Id of a run, or the beginning of one. Default: the newest run that wrote to URL, else below it.",
     .required = false},
};

constexpr Positional kRepairPositionals[] = {
    {.name = "URL", .sentence = "The folder with _headrace/runs/, or anything below it."}};

// Those recorded below `location` in other roots than `nearest`.
Status add_runs_below(CommandContext& context, const Location& location, const Location& nearest,
                      std::size_t limit, RunList& list) {
  const auto roots = tracking_roots_below(location, context.call());
  if (!roots && roots.error().code == Code::kPermissionDenied) {
    context.console.warn(concat("runs that are recorded below ", location.describe(),
                                " may be missing here: ", roots.error().message));
    return {};
  }
  if (!roots) return roots.error();
  for (const Location& root : *roots) {
    if (root.key == nearest.key) continue;
    HEADRACE_TRY(RunList more, list_runs(root, limit, context.call()));
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

Result<RunList> runs_at(CommandContext& context, const Location& location, std::size_t limit) {
  // The root may be the URL itself: ask as for something in it.
  HEADRACE_TRY(const Location nearest, tracking_root(location.at("run"), context.call()));
  HEADRACE_TRY(RunList list, list_runs(nearest, limit, context.call()));
  const bool are_others = nearest.key != location.key && !list.runs.empty();
  if (nearest.key != location.key) keep_writers_to(location, list.runs);
  HEADRACE_CHECK(add_runs_below(context, location, nearest, limit, list));
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

// The newest one that wrote to the URL itself, else the newest that wrote below it.
// REQUIRES: there are runs, oldest first
const RunRecord& newest_run(const std::vector<RunRecord>& runs, const std::string& url) {
  const auto found =
      std::find_if(runs.rbegin(), runs.rend(), [&](const RunRecord& run) { return run.start.output == url; });
  return found == runs.rend() ? runs.back() : *found;
}

Status list(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const RunList found,
               runs_at(context, location, static_cast<std::size_t>(options.integer("limit"))));
  if (context.console.json()) {
    Json out = Json::array();
    for (const RunRecord& run : found.runs) out.push_back(run_to_json(run));
    context.console.result(Json({{"runs", std::move(out)}}).dump());
    return {};
  }
  for (const RunRecord& run : found.runs) context.console.result(run_line(run));
  return {};
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

Status show(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const RunList found, runs_at(context, location, kMaximumRuns));
  const RunRecord* run = &newest_run(found.runs, recorded_url(location));
  if (arguments.size() > 1) {
    HEADRACE_TRY(run, run_named(found.runs, arguments[1], arguments[0]));
  }
  context.console.result(context.console.json() ? run_to_json(*run).dump() : run_page(*run));
  return {};
}

Status repair(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Location root, tracking_root(location.at("run"), context.call()));
  HEADRACE_TRY(const std::size_t created, repair_catalog(root, context.call()));
  if (context.console.json()) {
    context.console.result(Json({{"root", recorded_url(root)}, {"created", created}}).dump());
  } else {
    context.console.result(concat(root.describe(), ": ", created, " entries of the catalog were missing"));
  }
  return {};
}

}  // namespace

extern const Command kRunsLsCommand;
const Command kRunsLsCommand = {
    .name = "runs ls",
    .summary = "List the runs that wrote to a folder",
    .details =
        "Shows id, command, status, duration, final metrics and output of each run, oldest first.\n"
        "\n"
        "  headrace runs ls s3://datasets\n"
        "  headrace runs ls s3://datasets/runs/imdb-1",
    .positionals = kRunsLsPositionals,
    .options = kRunsLsOptions,
    .run = list};

extern const Command kRunsShowCommand;
const Command kRunsShowCommand = {
    .name = "runs show",
    .summary = "Show the record of a run",
    .details =
        "  headrace runs show s3://datasets/runs/imdb-1            the newest run that wrote there\n"
        "  headrace runs show s3://datasets 20261121-032600",
    .positionals = kShowPositionals,
    .options = {},
    .run = show};

extern const Command kRunsRepairCommand;
const Command kRunsRepairCommand = {
    .name = "runs repair",
    .summary = "Rebuild the catalog of runs from their records",
    .details =
        "Lineage finds runs by a catalog beside their records. If the catalog was lost, or not copied with\n"
        "the records, this command reads all records and creates the missing entries.\n"
        "\n"
        "  headrace runs repair s3://datasets",
    .positionals = kRepairPositionals,
    .options = {},
    .run = repair};

}  // namespace headrace

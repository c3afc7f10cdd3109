#pragma once

/// \file Finds runs for the commands `runs …`.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/run_index/run_index.h"
#include "headrace/track/runs.h"

namespace headrace {

inline constexpr std::size_t kMaximumRuns = 100'000;

/// Arguments that run_at takes, of a command about one run.
inline constexpr Positional kRunPositionals[] = {
    {.name = "URL", .sentence = "The folder that holds the record of the run, or its output."},
    {.name = "RUN",
     .sentence = "Id of a run, or the beginning of one. Default: the newest run.",
     .required = false},
};

/// The tracking roots near a place: the nearest one at or above it, and those below it. Warns if the latter
/// may not be listed.
Result<std::vector<Location>> roots_near(CommandContext& context, const Location& location);

/// A table of runs, as it is asked for.
struct TableRequest {
  SearchFilter filter{};
  std::optional<SearchOrder> order{};  // none: the newest first
  std::size_t limit = kMaximumRuns;
  std::size_t offset = 0;
  bool has_metrics = false;  // the rows shall have them; so they do where the filter or the order names one
  std::vector<std::string> metric_names{};  // only these; empty: all
  bool has_parameters = false;
  bool has_records = false;
  bool refreshes = true;  // else, only what the index of this machine has
};

struct TableRun {
  std::optional<Location> root{};  // none: only its index was asked
  IndexedRun run;
  std::vector<IndexedMetric> metrics{};
  std::vector<std::pair<std::string, std::string>> parameters{};
  std::optional<RunRecord> record{};
};

/// The runs that wrote to that place or below it, and all that are recorded at or below it, in the order of
/// the request. Reads what is new into the index (docs/decisions/run-index.md). Warns of damaged records.
/// \error kNotFound  there are none, or none that the filter keeps; kDataLoss  none can be read
Result<std::vector<TableRun>> table_at(CommandContext& context, const Location& location,
                                       const TableRequest& request);

/// The runs that wrote to that place or below it, and all that are recorded at or below it; the newest
/// `limit`, oldest first. \error as `table_at`
Result<std::vector<RunRecord>> runs_at(CommandContext& context, const Location& location, std::size_t limit);

/// The run of that id, or of the only id that begins so, among them; nothing is read of others. A
/// run of that id that is recorded at the nearest root comes first. Empty: the
/// newest one that wrote to the place itself, else below it.
/// \error kNotFound; kInvalidArgument  several begin so; kDataLoss  its record cannot be read
Result<RunRecord> run_at(CommandContext& context, const Location& location, const std::string& id);

}  // namespace headrace

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

/// The arguments of a command about one run, for run_at.
inline constexpr Positional kRunPositionals[] = {
    {.name = "URL", .sentence = "The folder that holds the record of the run, or its output."},
    {.name = "RUN",
     .sentence = "Id of a run, or the beginning of one. Default: the newest run.",
     .required = false},
};

/// The tracking roots near a place: the nearest root at or above it, and all roots below it. Warns if the
/// folders below may not be listed.
Result<std::vector<Location>> roots_near(CommandContext& context, const Location& location);

/// A request for a table of runs.
struct TableRequest {
  SearchFilter filter{};
  std::optional<SearchOrder> order{};  // none: the newest first
  std::size_t limit = kMaximumRuns;
  std::size_t offset = 0;
  bool has_metrics = false;                 // rows get metrics
  std::vector<std::string> metric_names{};  // only these; empty: all
  bool has_parameters = false;
  bool has_records = false;
  bool refreshes = true;  // false: use only the index on this machine
};

struct TableRun {
  std::optional<Location> root{};  // none: only the index was used
  IndexedRun run;
  std::vector<IndexedMetric> metrics{};
  std::vector<std::pair<std::string, std::string>> parameters{};
  std::optional<RunRecord> record{};
};

/// The runs that wrote to that place or below it, and all runs that are recorded at or below it, in the order
/// of the request. Reads new records into the index first (docs/decisions/run-index.md), unless the request
/// says otherwise. Warns of damaged records.
/// \error kNotFound  there are no runs, or none that matches the filter; kDataLoss  no record can be read
Result<std::vector<TableRun>> table_at(CommandContext& context, const Location& location,
                                       const TableRequest& request);

/// The newest `limit` of the runs that table_at finds, oldest first. \error as `table_at`
Result<std::vector<RunRecord>> runs_at(CommandContext& context, const Location& location, std::size_t limit);

/// The run with that id, or the only run whose id begins with it. Reads no other runs. A run with exactly
/// that id at the nearest root takes precedence. Empty `id`: the newest run that wrote to the place itself,
/// else the newest run below it.
/// \error kNotFound; kInvalidArgument  several runs match; kDataLoss  its record cannot be read
Result<RunRecord> run_at(CommandContext& context, const Location& location, const std::string& id);

}  // namespace headrace

#pragma once

/// \file Finds runs for the commands `runs …`.

#include <string>
#include <vector>

#include "headrace/cli/command.h"
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

/// The tracking roots near a place: the nearest one at or above it, and those below it.
Result<std::vector<Location>> roots_near(CommandContext& context, const Location& location);

/// The runs that wrote to that place or below it, and all that are recorded at or below it; the newest
/// `limit`, oldest first. Warns of damaged records.
/// \error kNotFound  there are none; kDataLoss  none can be read
Result<RunList> runs_at(CommandContext& context, const Location& location, std::size_t limit);

/// The run of that id, or of the only id that begins so, among them; nothing is read of others. A
/// run of that id that is recorded at the nearest root comes first. Empty: the
/// newest one that wrote to the place itself, else below it.
/// \error kNotFound; kInvalidArgument  several begin so; kDataLoss  its record cannot be read
Result<RunRecord> run_at(CommandContext& context, const Location& location, const std::string& id);

}  // namespace headrace

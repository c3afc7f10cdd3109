#pragma once

/// \file Metrics of recorded runs, for the commands `runs …`.

#include <string>
#include <string_view>

#include "headrace/cli/command.h"
#include "headrace/history/history.h"

namespace headrace {

/// The stores of a command as a source of metrics; warns of damage in event files.
HistorySource history_source(CommandContext& context);

/// The metrics that the run has logged (history.h), from the command's stores. Warns of damage in event
/// files.
/// \error as `metrics_of` of history.h
Result<RunMetrics> metrics_of(CommandContext& context, const RunRecord& run,
                              const HistoryOptions& options = {});

/// At most six digits: "0.333333", "nan".
std::string short_number(double value);

/// The shortest text that stands for this value and no other: "0.1", "nan".
std::string exact_number(double value);

}  // namespace headrace

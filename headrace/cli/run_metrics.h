#pragma once

/// \file Metrics of recorded runs, for the commands `runs …`.

#include <string>
#include <string_view>

#include "headrace/cli/command.h"
#include "headrace/history/history.h"

namespace headrace {

/// A source of metrics that reads from the command's stores and warns of damage in event files. `context`
/// must outlive it.
HistorySource history_source(CommandContext& context);

/// Reads the metrics that a run has logged (history.h), from the command's stores. Warns of damage in event
/// files.
/// \error as `metrics_of` of history.h
Result<RunMetrics> metrics_of(CommandContext& context, const RunRecord& run,
                              const HistoryOptions& options = {});

/// A number with at most six digits: "0.333333", "nan".
std::string short_number(double value);

/// The shortest text from which this exact value can be read back: "0.1", "nan".
std::string exact_number(double value);

}  // namespace headrace

#pragma once

/// \file Metrics of recorded runs, for the commands `runs …`.

#include "headrace/cli/command.h"
#include "headrace/metrics/run_metrics.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// The metrics that the run has logged into segments; none if it has no such series. With `verifies`, all of
/// them are read, and their checksums and chains compared.
/// \error kNotFound, kDataLoss  a log that the record names is gone or damaged; as the store
Result<RunMetrics> metrics_of(CommandContext& context, const RunRecord& run, bool verifies = false);

/// The shortest text that stands for this value and no other: "0.1", "nan".
std::string exact_number(double value);

}  // namespace headrace

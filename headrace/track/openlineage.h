#pragma once

/// \file Runs as events of OpenLineage, for catalogs of others. Schema: https://openlineage.io/spec/2-0-2,
/// names of datasets: https://openlineage.io/docs/spec/naming.

#include <string>
#include <vector>

#include "headrace/track/run_record.h"

namespace headrace {

/// Each a JSON object: START, and then COMPLETE, FAIL or ABORT, or RUNNING for a run that has no end. All
/// have the same run id, which is a function of the run alone. The job is the command and its output, so a
/// repeated command is another run of one job; for a program of a user's own it is the name of the run.
std::vector<std::string> openlineage_events(const RunRecord& run);

}  // namespace headrace

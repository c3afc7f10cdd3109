#pragma once

/// \file Describes runs as OpenLineage events, for other catalogs. Schema: https://openlineage.io/spec/2-0-2,
/// names of datasets: https://openlineage.io/docs/spec/naming.

#include <string>
#include <vector>

#include "headrace/track/run_record.h"

namespace headrace {

/// The two events of a run, each a JSON object: START, then COMPLETE, FAIL or ABORT, or RUNNING if the run
/// has no end. Both have the same run id, which depends on the run alone. The job is the command and its
/// output, so repeating a command makes another run of the same job. For a run without an output, the job is
/// its name or, without a name, its command.
std::vector<std::string> openlineage_events(const RunRecord& run);

}  // namespace headrace

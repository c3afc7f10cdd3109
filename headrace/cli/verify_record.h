#pragma once

/// \file Records, metrics and artifacts of a tracking root, as `verify` looks at them.

#include "headrace/cli/command.h"
#include "headrace/track/verify_runs.h"

namespace headrace {

/// Reads all that runs have recorded in the folder itself: every object of their records, every segment of
/// their metrics, what they printed, every state of MLflow's client, and of artifacts every version, list of
/// entries, and kept content. No objects if nothing is recorded there.
/// \error of the store, where nothing can be said; kCancelled
Result<VerifiedObjects> verify_record(CommandContext& context, const Location& root);

}  // namespace headrace

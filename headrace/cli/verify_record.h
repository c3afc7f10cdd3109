#pragma once

/// \file Verifies the records, metrics and artifacts of a tracking root, for `verify`.

#include "headrace/cli/command.h"
#include "headrace/track/verify_runs.h"

namespace headrace {

/// Reads everything that runs have recorded in the folder itself: every object of their records, every
/// segment of their metrics, their console output, every state of MLflow's client, and every version, list of
/// entries and kept content of artifacts. No objects if nothing is recorded there. References of artifacts
/// are not checked.
/// \error of the store, if it prevents an answer; kCancelled
Result<VerifiedObjects> verify_record(CommandContext& context, const Location& root);

}  // namespace headrace

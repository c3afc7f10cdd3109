#pragma once

/// \file `inspect LOG --against DATASET`: how far the requests that a server has logged have drifted from the
/// data on which the model was trained.

#include "headrace/base/options.h"
#include "headrace/cli/command.h"

namespace headrace {

/// Prints the drift of each feature (statistics/drift.h): compares the rows of the log, newest files first,
/// with the records of the dataset's split "train", or else its first split. --sample and --data-version
/// concern the dataset; --limit concerns its records and the rows.
/// \error kInvalidArgument  --against is not a dataset, or it has no records; the log has no rows
/// \error kNotFound         nothing is there
Status inspect_drift(CommandContext& context, const Location& log, const OptionValues& values);

}  // namespace headrace

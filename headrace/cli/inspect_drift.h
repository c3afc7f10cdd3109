#pragma once

/// \file `inspect LOG --against DATASET`: how far the requests that a server has logged have moved away from
/// the data that the model learnt from.

#include "headrace/base/options.h"
#include "headrace/cli/command.h"

namespace headrace {

/// Prints the drift of each feature (statistics/drift.h): of the log's rows, the newest files first, against
/// the records of the dataset's train split, or of its first. --sample, --limit and --data-version are for
/// the dataset; --limit holds for the rows, too.
/// \error kInvalidArgument  --against is no dataset; the log has no rows
/// \error kNotFound         nothing lies there
Status inspect_drift(CommandContext& context, const Location& log, const OptionValues& values);

}  // namespace headrace

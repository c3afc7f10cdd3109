#pragma once

/// \file The part of `inspect` that reads records.

#include <optional>
#include <string>

#include "headrace/base/json.h"
#include "headrace/cli/command.h"
#include "headrace/track/published_folder.h"

namespace headrace {

struct RecordStatistics {
  Json json;
  std::string text;  // lines that follow those of the inspection
};

/// Computes the results that --statistics, --html, --sample, --limit and --parquet ask for; none without
/// --statistics and --html. Prints warnings to the console.
/// \error kInvalidArgument  a published folder is there that is not a dataset; --parquet needs a dataset that
///                          prepare made
Result<std::optional<RecordStatistics>> inspect_records(CommandContext& context, const Location& location,
                                                        const OptionValues& values);

/// Writes the report of a dataset as Parquet to the URL `target`: a row for each line, with the columns of
/// docs/formats/plan.md, "Report".
/// \error kNotFound            there is no report
/// \error kFailedPrecondition  the interpreter has no pyarrow
Status write_report_parquet(CommandContext& context, const PublishedFolder& published,
                            const std::string& target);

}  // namespace headrace

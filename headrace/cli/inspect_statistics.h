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
  std::string text;  // lines that go on from an inspection's
};

/// Computes what the options --statistics, --html, --sample, --limit and --parquet ask for; none without the
/// first two. Warnings go to the console.
/// \error kInvalidArgument  something was published there, and it is not one dataset
Result<std::optional<RecordStatistics>> inspect_records(CommandContext& context, const Location& location,
                                                        const OptionValues& values);

/// Writes the report of a dataset as Parquet to `target`, a URL: a row for each line, with the columns of
/// docs/formats/plan.md, "Report".
/// \error kNotFound            there is no report
/// \error kFailedPrecondition  the interpreter has no pyarrow
Status write_report_parquet(CommandContext& context, const PublishedFolder& published,
                            const std::string& target);

}  // namespace headrace

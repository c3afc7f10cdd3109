#pragma once

/// \file Shows and exports tables that runs have logged, for `runs show --table` and `runs export --table`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// Shows a table of a run: the table of that step, or else the last one; from the lowest rank that has it.
/// \error kNotFound  there is no such table: the message names those that exist
Status show_table(CommandContext& context, const RunRecord& run, const std::string& name,
                  std::optional<std::int64_t> step);

/// A field of CSV, quoted according to RFC 4180.
std::string csv_field(std::string_view text);

/// Writes all tables with that name to the local file `path` as CSV: the columns run, rank and step, then
/// those of the table. Returns the number of tables.
/// \error kInvalidArgument  their columns differ; kResourceExhausted  the file cannot be written
Result<std::uint64_t> write_tables(CommandContext& context, const std::vector<RunRecord>& runs,
                                   const std::string& name, const std::string& path);

}  // namespace headrace

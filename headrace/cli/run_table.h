#pragma once

/// \file Tables that runs have logged, for `runs show --table` and `runs export --table`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// Shows a table of a run: that of the step, or the last one; of the lowest rank that has it.
/// \error kNotFound  there is none: names those that are there
Status show_table(CommandContext& context, const RunRecord& run, const std::string& name,
                  std::optional<std::int64_t> step);

/// One field of CSV, as RFC 4180 has it.
std::string csv_field(std::string_view text);

/// Writes the tables of that name as CSV: the columns run, rank and step, and those of the table. Returns the
/// number of tables.
/// \error kInvalidArgument  their columns differ; kResourceExhausted  the disk is full
Result<std::uint64_t> write_tables(CommandContext& context, const std::vector<RunRecord>& runs,
                                   const std::string& name, const std::string& path);

}  // namespace headrace

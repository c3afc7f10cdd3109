#pragma once

/// \file Tables for other programs. Headrace itself cannot write Parquet: pyarrow in the Python interpreter
/// does.

#include <string>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/store/location.h"

namespace headrace {

/// Copies a local file to a location, where it replaces any object.
Status upload_file(CommandContext& context, const std::string& path, const Location& to);

/// Runs headrace/_src/`program` from the Python package that belongs to this program.
/// \error kFailedPrecondition  it failed, for example without pyarrow: the message says why
Status run_parquet_program(const CommandContext& context, const std::string& program,
                           std::vector<std::string> arguments);

}  // namespace headrace

#pragma once

/// \file Tables for other programs. The core cannot write Parquet: pyarrow of the interpreter does.

#include <string>
#include <vector>

#include "headrace/cli/command.h"
#include "headrace/store/location.h"

namespace headrace {

/// Copies a file of this machine to a place, where it replaces what is there.
Status upload_file(CommandContext& context, const std::string& path, const Location& to);

/// Runs headrace/_src/`program` of the Python package that belongs to this program.
/// \error kFailedPrecondition  it failed, as without pyarrow: the message says why
Status run_parquet_program(const CommandContext& context, const std::string& program,
                           std::vector<std::string> arguments);

}  // namespace headrace

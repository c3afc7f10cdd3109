#pragma once

/// \file Parquet, which the core cannot write: pyarrow of the interpreter does.

#include <string>
#include <vector>

#include "headrace/cli/command.h"

namespace headrace {

/// Runs headrace/_src/`program` of the Python package that belongs to this program.
/// \error kFailedPrecondition  it failed, as without pyarrow: the message says why
Status run_parquet_program(const CommandContext& context, const std::string& program,
                           std::vector<std::string> arguments);

}  // namespace headrace

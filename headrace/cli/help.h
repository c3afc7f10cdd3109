#pragma once

/// \file Help texts, generated from the commands' tables.

#include <span>
#include <string>

#include "headrace/cli/command.h"

namespace headrace {

/// The help of a command: purpose, arguments, and options with unit, default and range.
std::string command_help(const Command& command);

/// All commands, or those of one group ("runs"), one on each line.
std::string overview(std::span<const Command* const> commands, std::string_view group);

}  // namespace headrace

#pragma once

/// \file Parses a command line into a command, its arguments and its options.

#include <span>
#include <string>
#include <vector>

#include "headrace/cli/command.h"

namespace headrace {

/// Options that every command takes.
std::span<const Option> common_options();

struct ParsedCommandLine {
  /// Null if help was requested without a command, or for a group of commands; `help_topic` is the group's
  /// name.
  const Command* command = nullptr;
  std::vector<std::string> arguments;
  OptionValues options;
  OptionValues common;
  std::string help_topic;
};

/// Parses `words`, the command line without the program's name. A command's name is one word or two ("runs
/// ls"); the longest that fits is taken. Options are written `--name value`, `--name=value`, `-r`, or `-ry`
/// for `-r -y`. Words after "--" are not options; "-" is an argument. A value may begin with '-'. "headrace
/// help X" means "headrace X --help"; a command line without words asks for help.
/// \error kInvalidArgument  the command or an option is unknown (the message suggests the nearest name); a
///                          value is missing, superfluous or not allowed; an argument is missing or
///                          superfluous
Result<ParsedCommandLine> parse_command_line(std::span<const Command* const> commands,
                                             std::span<const std::string> words);

}  // namespace headrace

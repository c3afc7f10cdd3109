#pragma once

/// \file From the words of a command line to a command, its arguments and its options.

#include <span>
#include <string>
#include <vector>

#include "headrace/cli/command.h"

namespace headrace {

/// Options that every command takes: json, quiet, help.
std::span<const Option> common_options();

struct ParsedCommandLine {
  /// Null where help was asked for of no command, or of a group of commands: `help_topic` holds its name.
  const Command* command = nullptr;
  std::vector<std::string> arguments;
  OptionValues options;
  OptionValues common;
  std::string help_topic;
};

/// `words` without the program's name. A command's name is one word or two ("runs ls"); the longest that fits
/// is taken. `--name value`, `--name=value`, `-r`, `-ry` for `-r -y`; what follows "--" is not an option; "-"
/// is an argument. A value may begin with '-'. "headrace help X" is "headrace X --help"; no word at all asks
/// for help.
/// \error kInvalidArgument  an unknown command or option (the nearest name is suggested), a value that is
///                          missing, not allowed or one too many, an argument missing or one too many
Result<ParsedCommandLine> parse_command_line(std::span<const Command* const> commands,
                                             std::span<const std::string> words);

}  // namespace headrace

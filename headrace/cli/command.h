#pragma once

/// \file A command of `headrace`: a name, a table of options, and a function. To add one: write x.cc, which
/// defines `extern const Command kXCommand`, and name it in commands.cc, the only list.
///
///   namespace headrace {
///   namespace {
///   constexpr Positional kPositionals[] = {{.name = "URL", .sentence = "The dataset."}};
///   constexpr Option kOptions[] = {{.name = "epochs", .type = OptionType::kInteger, .default_value = "10",
///                                   .unit = "epochs", .sentence = "How long to train.", .minimum = 1}};
///   Status run(CommandContext& context, const std::vector<std::string>& arguments,
///              const OptionValues& options) { … }
///   }  // namespace
///   extern const Command kXCommand;
///   const Command kXCommand = {.name = "x", .summary = "…", .details = "…", .positionals = kPositionals,
///                              .options = kOptions, .run = run};
///   }  // namespace headrace

#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/base/options.h"
#include "headrace/cli/console.h"
#include "headrace/store/registry.h"

namespace headrace {

/// Everything that a command gets besides its own arguments. Valid while the command runs.
struct CommandContext {
  const Environment& environment;
  StoreRegistry& stores;
  Console& console;
  /// The whole command line, from "headrace" on, for the record of the run.
  std::vector<std::string> command_line;
  /// Stopped by SIGINT and SIGTERM. The command must then end cleanly within a second, with Code::kCancelled.
  std::stop_token stop;

  /// Options for calls to a store, which end when the command is stopped.
  CallOptions call() const { return {.stop = stop}; }
};

struct Positional {
  std::string_view name;      // "FROM"
  std::string_view sentence;  // a sentence about it, for the help
  bool required = true;
  bool repeated = false;  // may be given several times; only the last positional
};

struct Command {
  std::string_view name;     // "runs ls" belongs to the group "runs"
  std::string_view summary;  // one line, without a full stop
  std::string_view details;  // shown by --help: what it does; then examples, indented by two spaces
  std::span<const Positional> positionals;
  /// Besides these, every command takes --json, --quiet, --metrics and --help.
  std::span<const Option> options;
  /// `arguments` holds the positionals that were given; their number is checked against `positionals`.
  Status (*run)(CommandContext& context, const std::vector<std::string>& arguments,
                const OptionValues& options);
  /// Checks rules that a single row of the option table cannot express, such as options that need or exclude
  /// one another. Its error is reported as a wrong command line.
  Status (*check)(const OptionValues& options) = nullptr;
};

/// For stages: where to write the record of the run; see docs/formats/run-record.md.
inline constexpr Option kTrackOption = {
    .name = "track",
    .unit = "URL",
    .sentence =
        "Folder whose _headrace/runs/ gets the record of this run. Default: the nearest folder above the "
        "output that has such records, else the bucket, or the folder that contains the output."};

/// All commands, in the order of the help text.
std::span<const Command* const> all_commands();

/// Parses the command line, runs the command, and prints its error. The first of `arguments` is the program.
/// Returns the exit code: 0 done, 1 failed or stopped, 2 a wrong command line. `stop` ends the command early.
int run_command_line(const std::vector<std::string>& arguments, const Environment& environment,
                     const std::stop_source& stop);

}  // namespace headrace

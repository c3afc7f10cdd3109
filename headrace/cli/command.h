#pragma once

/// \file What a command of `headrace` is: a name, a table of options, and a function. commands.cc lists them
/// all.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/base/options.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The terminal side of a command: results to standard output, progress and remarks to standard error.
/// Thread-safe.
class Console {
 public:
  /// `progress`: draw one line that is rewritten; else print a plain line now and then.
  Console(bool json, bool progress);
  ~Console();
  /// Machine-readable results were asked for (--json): print one JSON document with `result`, nothing else.
  bool json() const { return json_; }
  /// A line of the result.
  void result(std::string_view line);
  /// A remark for people; not part of the result.
  void note(std::string_view line);
  void warn(std::string_view line);
  /// Shows how far a stage is; `total` 0 if unknown. Cheap: draws at most ten times a second.
  void progress(std::string_view stage, std::uint64_t done, std::uint64_t total, std::string_view unit);

 private:
  struct State;
  bool json_;
  std::unique_ptr<State> state_;
};

struct CommandContext {
  const Environment& environment;
  StoreRegistry& stores;
  Console& console;
  /// The whole command line, for the record of the run.
  std::vector<std::string> command_line;
};

struct Positional {
  std::string_view name;  // "FROM"
  std::string_view sentence;
  bool required = true;
  bool repeated = false;  // only the last
};

struct Command {
  std::string_view name;     // "runs ls" has the group "runs"
  std::string_view summary;  // one line
  std::string_view details;  // shown by --help: what it does, examples
  std::span<const Positional> positionals;
  std::span<const Option> options;
  /// `arguments` holds the positionals that were given.
  Status (*run)(CommandContext& context, const std::vector<std::string>& arguments,
                const OptionValues& options);
};

/// Every command, in the order of the help text.
std::span<const Command> all_commands();

/// Parses the command line, runs the command, prints its error. Returns the exit code: 0 done, 1 failed, 2 a
/// wrong command line.
int run_command_line(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace headrace

#pragma once

/// \file The process of a command: its stores, its command line, a clock of its own.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/cli/command.h"
#include "headrace/cli/parse.h"
#include "tests/interleave/commands.h"

namespace headrace::interleave {

/// For files that engines read and write; gone when the program ends.
const std::string& local_folder();

/// Each look at the clock is a second later; nobody sleeps.
std::chrono::system_clock::time_point virtual_now();
/// The same for the clock of what is put off. All is due at once, and for a process that was killed nothing
/// is.
std::function<std::chrono::steady_clock::time_point()> virtual_steady_clock(
    std::shared_ptr<StallControl> control);

/// One process. Its calls to `out` are those that its surroundings count.
class Process {
 public:
  explicit Process(const Surroundings& surroundings);

  using Body = std::function<Status(CommandContext&, const ParsedCommandLine&)>;
  /// Parses a command line as the program does, and gives it to `body`.
  Status with(const std::string& words, const Body& body);
  Status run(const std::string& words);

  Environment environment;
  StoreRegistry stores;
  Console console;
};

/// The command of that command line.
TestCommand words(std::string_view name, std::string line, bool is_reader = false);

}  // namespace headrace::interleave

#pragma once

/// \file The lines of this program. Those of the commands that it runs go to /dev/null.

#include <string>

namespace headrace::interleave {

/// Sends what commands print to /dev/null. Call it once, before any thread starts and before `print`.
void silence_commands();

/// Thread-safe.
void print(const std::string& line);

/// For what must not fail: prints why it did, and aborts.
[[noreturn]] void give_up(const std::string& why);

}  // namespace headrace::interleave

#pragma once

/// \file The surroundings of a process: captured once at an entry point (cli/, a binding) and passed down.
/// Nothing below an entry point reads the environment, the clock or the terminal.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

struct Environment {
  std::map<std::string, std::string, std::less<>> variables;
  /// The wall clock. Tests pass their own.
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;

  /// The variable's value; none if it is unset or empty.
  std::optional<std::string> get(std::string_view name) const {
    const auto found = variables.find(name);
    if (found == variables.end() || found->second.empty()) return std::nullopt;
    return found->second;
  }

  /// Reads a switch: true for 1, true, yes or on; false for 0, false, no or off; in any case of letters.
  /// Returns `if_unset` if the variable is unset or empty.
  /// \error kInvalidArgument  any other value; the message names the variable
  Result<bool> is_on(std::string_view name, bool if_unset = false) const;

  /// Reads this process's environment. Not safe while another thread changes the environment. A program calls
  /// it once, before it starts threads; the TensorFlow plug-in calls it once, at its first use; the Python
  /// module calls it whenever a URL is opened, with the GIL held.
  static Environment capture();
};

/// The folder for this user's data that can be made again: $XDG_CACHE_HOME/headrace or, if that variable is
/// not set, $HOME/.cache/headrace. None if neither variable is set.
std::optional<std::string> cache_folder(const Environment& environment);

/// The folder for this user's data that cannot be made again and is not in a store yet:
/// $XDG_STATE_HOME/headrace or, if that variable is not set, $HOME/.local/state/headrace. None if neither
/// variable is set.
std::optional<std::string> state_folder(const Environment& environment);

/// "2026-11-21T03:26:00Z" (UTC, whole seconds).
std::string format_time(std::chrono::system_clock::time_point time);

/// 64 bits from the system's random generator, for names that must not collide. Never use them to order
/// records.
std::uint64_t random_name_bits();

}  // namespace headrace

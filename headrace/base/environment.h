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
  /// Wall clock. Tests pass their own.
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;

  /// The variable's value; none if it is unset or empty.
  std::optional<std::string> get(std::string_view name) const {
    const auto found = variables.find(name);
    if (found == variables.end() || found->second.empty()) return std::nullopt;
    return found->second;
  }

  /// 1, true, yes, on, or 0, false, no, off.
  /// \error kInvalidArgument  anything else; names the variable
  Result<bool> is_on(std::string_view name, bool if_unset = false) const;

  /// Reads this process's environment. A program calls it once, before threads start; the plug-in of
  /// TensorFlow, once, when it is first used; the Python module, with the GIL held, whenever a URL is opened.
  static Environment capture();
};

/// Where this user's processes keep what can be made again, $XDG_CACHE_HOME/headrace or ~/.cache/headrace;
/// none if neither is set.
std::optional<std::string> cache_folder(const Environment& environment);

/// Where this user's processes keep what cannot be made again, until it is in a store:
/// $XDG_STATE_HOME/headrace or ~/.local/state/headrace; none if neither is set.
std::optional<std::string> state_folder(const Environment& environment);

/// "2026-11-21T03:26:00Z" (UTC, whole seconds).
std::string format_time(std::chrono::system_clock::time_point time);

/// Bytes from the system's random generator, for names that must not collide. Never for order.
std::uint64_t random_name_bits();

}  // namespace headrace

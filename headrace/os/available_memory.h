#pragma once

/// \file Finds how much memory a process may still take.

#include <cstdint>
#include <optional>
#include <string>

namespace headrace {

/// The memory that this machine has available (/proc/meminfo) or, if that is less, the memory that the
/// cgroups of this process (version 2) leave. None if neither is known. The number may change at any time.
/// `root` is the folder that contains /proc and /sys; tests pass their own.
std::optional<std::uint64_t> available_memory_bytes(const std::string& root = "");

}  // namespace headrace

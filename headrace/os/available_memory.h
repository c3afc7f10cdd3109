#pragma once

/// \file How much memory a process may still take.

#include <cstdint>
#include <optional>
#include <string>

namespace headrace {

/// Bytes that this machine has available (/proc/meminfo), or the memory cgroups of this process, version 2,
/// if one of them leaves less. None: neither says. It may be another number a moment later. `root`: where
/// /proc and /sys are; tests pass their own.
std::optional<std::uint64_t> available_memory_bytes(const std::string& root = "");

}  // namespace headrace

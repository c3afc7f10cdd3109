#pragma once

/// \file Durations as people type them: "500ms", "90s", "15m", "1h", "7d".

#include <chrono>
#include <optional>
#include <string_view>

namespace headrace {

/// None if `text` is not a whole number followed by one of those units, or is longer than 100 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace headrace

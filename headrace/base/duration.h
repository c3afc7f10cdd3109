#pragma once

/// \file Times as they are typed: "500ms", "90s", "15m", "1h", "7d".

#include <chrono>
#include <optional>
#include <string_view>

namespace headrace {

/// None if it is not a whole number with one of those units, or longer than 100 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace headrace

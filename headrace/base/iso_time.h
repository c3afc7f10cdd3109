#pragma once

/// \file Times with fractions of a second, as text.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

/// Parses ISO 8601 with date, time and zone: "2026-11-21T03:26:00Z", "2026-11-21T03:26:00.5+01:00". None for
/// any other form, and for years before 1970 or after 2200. Drops a fraction of a second, because stores
/// include it in some of their answers only.
std::optional<std::chrono::system_clock::time_point> parse_iso_time(std::string_view text);

/// "2026-11-21T03:26:00.125Z" (UTC).
std::string format_time_ms(std::chrono::system_clock::time_point time);

}  // namespace headrace

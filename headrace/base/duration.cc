#include "headrace/base/duration.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::chrono::milliseconds kLongest = std::chrono::years(100);

std::optional<std::chrono::milliseconds> unit_of(char letter) {
  switch (letter) {
    case 's':
      return std::chrono::seconds(1);
    case 'm':
      return std::chrono::minutes(1);
    case 'h':
      return std::chrono::hours(1);
    case 'd':
      return std::chrono::hours(24);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::size_t unit_size = text.ends_with("ms") ? 2 : 1;
  const auto unit = unit_size == 2 ? std::chrono::milliseconds(1) : unit_of(text.back());
  const auto count = parse_number<std::uint32_t>(text.substr(0, text.size() - unit_size));
  if (!unit || !count || *count > kLongest / *unit) return std::nullopt;
  return *count * *unit;
}

}  // namespace headrace

#include "headrace/cli/duration.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::chrono::seconds kLongest = std::chrono::years(100);

std::optional<std::chrono::seconds> unit_of(char letter) {
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

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto unit = unit_of(text.back());
  const auto count = parse_number<std::uint32_t>(text.substr(0, text.size() - 1));
  if (!unit || !count || *count > kLongest / *unit) return std::nullopt;
  return *count * *unit;
}

}  // namespace headrace

#include "headrace/base/iso_time.h"

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

template <typename T>
std::optional<T> digits_at(std::string_view text, std::size_t begin, std::size_t count) {
  return begin + count <= text.size() ? parse_number<T>(text.substr(begin, count)) : std::nullopt;
}

// The offset of "Z", "+01:00" or "-0130", to be subtracted from the time.
std::optional<std::chrono::minutes> parse_zone(std::string_view zone) {
  if (zone == "Z" || zone == "z") return std::chrono::minutes(0);
  if (zone.empty() || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
  const std::size_t minutes_at = zone.size() == 6 && zone[3] == ':' ? 4 : 3;
  const auto hours = digits_at<unsigned>(zone, 1, 2), minutes = digits_at<unsigned>(zone, minutes_at, 2);
  if (!hours || !minutes || minutes_at + 2 != zone.size() || *hours > 23 || *minutes > 59)
    return std::nullopt;
  const std::chrono::minutes offset(*hours * 60 + *minutes);
  return zone[0] == '+' ? offset : -offset;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_iso_time(std::string_view text) {
  using namespace std::chrono;
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != ' ') ||
      text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const auto year = digits_at<unsigned>(text, 0, 4), month = digits_at<unsigned>(text, 5, 2),
             day = digits_at<unsigned>(text, 8, 2), hour = digits_at<unsigned>(text, 11, 2),
             minute = digits_at<unsigned>(text, 14, 2), second = digits_at<unsigned>(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                            std::chrono::day(*day)};
  // The clock counts nanoseconds in 64 bits, and its range ends in 2262.
  if (!date.ok() || *year < 1970 || *year > 2200 || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  std::string_view zone = text.substr(19);
  if (zone.starts_with('.'))
    zone.remove_prefix(std::min(zone.find_first_not_of("0123456789", 1), zone.size()));
  const auto offset = parse_zone(zone);
  if (!offset) return std::nullopt;
  return sys_days(date) + hours(*hour) + minutes(*minute) + seconds(*second) - *offset;
}

std::string format_time_ms(std::chrono::system_clock::time_point time) {
  std::string text = format_time(time);
  const auto since_epoch = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::int64_t ms = (since_epoch % 1000 + 1000) % 1000;
  text.insert(text.size() - 1, concat(".", zero_padded(static_cast<std::uint64_t>(ms), 3)));
  return text;
}

}  // namespace headrace

#include "headrace/base/environment.h"

#include "headrace/base/text.h"

namespace headrace {

Result<bool> Environment::is_on(std::string_view name, bool if_unset) const {
  const std::string value = to_lower(get(name).value_or(""));
  if (value.empty()) return if_unset;
  if (value == "1" || value == "true" || value == "yes" || value == "on") return true;
  if (value == "0" || value == "false" || value == "no" || value == "off") return false;
  return Error{Code::kInvalidArgument, concat(name, " is neither 0 nor 1")};
}

std::optional<std::string> cache_folder(const Environment& environment) {
  if (const auto cache = environment.get("XDG_CACHE_HOME")) return *cache + "/headrace";
  if (const auto home = environment.get("HOME")) return *home + "/.cache/headrace";
  return std::nullopt;
}

std::optional<std::string> state_folder(const Environment& environment) {
  if (const auto state = environment.get("XDG_STATE_HOME")) return *state + "/headrace";
  if (const auto home = environment.get("HOME")) return *home + "/.local/state/headrace";
  return std::nullopt;
}

std::string format_time(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<seconds>(time - day));
  const auto two_digits = [](auto number) { return zero_padded(static_cast<std::uint64_t>(number), 2); };
  return concat(zero_padded(static_cast<std::uint64_t>(static_cast<int>(date.year())), 4), '-',
                two_digits(static_cast<unsigned>(date.month())), '-',
                two_digits(static_cast<unsigned>(date.day())), 'T', two_digits(clock.hours().count()), ':',
                two_digits(clock.minutes().count()), ':', two_digits(clock.seconds().count()), 'Z');
}

}  // namespace headrace

#include "headrace/base/environment.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "headrace/base/text.h"

namespace headrace {

Result<bool> Environment::is_on(std::string_view name, bool if_unset) const {
  const std::string value = to_lower(get(name).value_or(""));
  if (value.empty()) return if_unset;
  if (value == "1" || value == "true" || value == "yes" || value == "on") return true;
  if (value == "0" || value == "false" || value == "no" || value == "off") return false;
  return Error{Code::kInvalidArgument, concat(name, " is neither 0 nor 1")};
}

Environment Environment::capture() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
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
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char out[32];
  std::strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return out;
}

std::uint64_t random_name_bits() {
  std::uint64_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    if (errno != EINTR) std::abort();  // the kernel always has these eight bytes
  }
  return bits;
}

}  // namespace headrace

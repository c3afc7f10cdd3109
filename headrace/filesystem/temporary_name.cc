#include "headrace/filesystem/temporary_name.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kOnlyPart = "-00000-of-00001";
constexpr std::string_view kData = ".data-00000-of-00001";
constexpr std::string_view kIndex = ".index";
constexpr std::size_t kUuidDigits = 32;

bool are_all(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == text.npos;
}

// "N.tempstate1234" → "N", and "N.tmp<32 hexadecimal digits>" → "N".
std::optional<std::string_view> without_suffix(std::string_view name) {
  const std::size_t state = name.rfind(".tempstate");
  if (state != name.npos && are_all(name.substr(state + 10), "0123456789")) return name.substr(0, state);
  const std::size_t whole = name.rfind(".tmp");
  if (whole == name.npos || name.size() != whole + 4 + kUuidDigits) return std::nullopt;
  return are_all(name.substr(whole + 4), "0123456789abcdef") ? std::optional(name.substr(0, whole))
                                                             : std::nullopt;
}

// Returns "P" for "P.part-00000-of-00001<suffix>" and for "P_temp/part-00000-of-00001<suffix>". TensorFlow's
// older Saver puts a random text after "_temp_".
std::optional<std::string_view> prefix_of_only_part(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  if (!name.ends_with(kOnlyPart)) return std::nullopt;
  name.remove_suffix(kOnlyPart.size());
  if (name.ends_with(".part")) return name.substr(0, name.size() - 5);
  if (!name.ends_with("/part")) return std::nullopt;
  name.remove_suffix(5);
  const std::size_t temp = name.rfind("_temp");
  const bool is_of_folder = temp != name.npos && name.find('/', temp) == name.npos &&
                            (temp + 5 == name.size() || name[temp + 5] == '_');
  return is_of_folder ? std::optional(name.substr(0, temp)) : std::nullopt;
}

}  // namespace

std::optional<std::string> final_name(std::string_view name) {
  bool is_temporary = false;
  if (const auto shorter = without_suffix(name)) {
    name = *shorter;
    is_temporary = true;
  }
  if (const auto prefix = prefix_of_only_part(name, kData)) return concat(*prefix, kData);
  is_temporary = is_temporary || prefix_of_only_part(name, kIndex).has_value();
  return is_temporary ? std::optional(std::string(name)) : std::nullopt;
}

}  // namespace headrace

#include "headrace/prepare/schema/split_name.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"

namespace headrace {

bool is_usable_split_name(std::string_view name) {
  constexpr std::size_t kMostBytes = 100;
  return !name.empty() && name.size() <= kMostBytes && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '-' || c == '.';
         });
}

std::string usual_split_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kUsual = {
      {{"training", "train"},
       {"val", "validation"},
       {"valid", "validation"},
       {"validate", "validation"},
       {"eval", "validation"},
       {"dev", "validation"},
       {"testing", "test"},
       {"validation", "validation"}}};
  const std::string lower = to_lower(trim(name));
  for (const auto& [written, usual] : kUsual) {
    if (lower == written) return std::string(usual);
  }
  return lower == "train" || lower == "test" ? lower : std::string(trim(name));
}

}  // namespace headrace

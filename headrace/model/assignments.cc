#include "headrace/model/assignments.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

Result<Assignments> parse_assignments(std::string_view option, std::string_view text) {
  Assignments out;
  if (text.empty()) return out;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name(trim(equals == part.npos ? std::string_view() : part.substr(0, equals)));
    const std::string value(trim(equals == part.npos ? part : part.substr(equals + 1)));
    if (value.empty() || (equals != part.npos && name.empty())) {
      return Error{Code::kInvalidArgument,
                   concat(option, " ", text, ": \"", part, "\" is neither NAME nor NAME=FEATURE")};
    }
    out.is_selection = out.is_selection || name.empty();
    if (!name.empty() && !out.by_name.emplace(name, value).second)
      return Error{Code::kInvalidArgument, concat(option, " ", text, ": ", name, " is given twice")};
    if (std::ranges::find(out.values, value) == out.values.end()) out.values.push_back(value);
  }
  return out;
}

}  // namespace headrace

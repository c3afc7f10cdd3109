#pragma once

/// \file The form in which options name features: "age,job" or "years=age,work=job".

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

struct Assignments {
  std::vector<std::string> values;             // all features that are named, each once, in their order
  std::map<std::string, std::string> by_name;  // input or output → feature
  /// A feature is named alone: then only those that are named count. Else the others count as well.
  bool is_selection = false;
};

/// \error kInvalidArgument  an empty name, or an input that is named twice; calls it `option`
Result<Assignments> parse_assignments(std::string_view option, std::string_view text);

}  // namespace headrace

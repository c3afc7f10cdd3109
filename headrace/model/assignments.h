#pragma once

/// \file Parses the options that name features: "age,job" or "years=age,work=job".

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

struct Assignments {
  std::vector<std::string> values;             // all named features, each once, in the order of the text
  std::map<std::string, std::string> by_name;  // input or output → feature
  /// Whether a feature is named without "NAME=". Then only the named features are used, else all others too.
  bool is_selection = false;
};

/// Parses the value of an option; an empty text names nothing. `option` is its name for messages.
/// \error kInvalidArgument  a name is empty, or an input is named twice
Result<Assignments> parse_assignments(std::string_view option, std::string_view text);

}  // namespace headrace

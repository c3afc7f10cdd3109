#pragma once

/// \file The values of labels.

#include <map>
#include <string>
#include <vector>

namespace headrace {

/// Label feature → its values in the order of their ids.
using Vocabularies = std::map<std::string, std::vector<std::string>>;

}  // namespace headrace

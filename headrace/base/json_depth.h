#pragma once

/// \file A bound on how deep a JSON text nests. JSON libraries copy, compare and print a value by recursion:
/// a text of nothing but brackets would use up the stack.

#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// Far more levels than any format of Headrace has.
inline constexpr int kJsonDepthLimit = 64;

/// Call before a document that others may have written is parsed. Counts brackets outside of strings; says
/// nothing else about the text, which need not be JSON. One pass, no memory.
/// \error kDataLoss  more than kJsonDepthLimit brackets are open at once
Status check_json_depth(std::string_view text);

}  // namespace headrace

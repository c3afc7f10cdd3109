#pragma once

/// \file Cells of text to numbers.

#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// A decimal number, with white space around it, and nothing else. No locale is involved.
/// \error kInvalidArgument  it is none, or does not fit; the text is quoted
Result<std::int64_t> parse_int64(std::string_view cell);
/// The nearest float32; also "inf", "nan" and exponents. One that is too small to be told from 0 is 0.
Result<float> parse_float(std::string_view cell);

/// Appends the numbers of a list, "[1, 2 3;4]": between white space, commas and semicolons, in brackets or
/// not. An empty list has none.
/// \error kInvalidArgument  as above, and says which number of the list
Status parse_int64s(std::string_view cell, std::vector<std::int64_t>& numbers);
Status parse_floats(std::string_view cell, std::vector<float>& numbers);

}  // namespace headrace

#pragma once

/// \file Reads numbers from cells of text.

#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// Parses a decimal number that may have white space around it, and nothing else. The locale has no effect.
/// \error kInvalidArgument  not a number, or one that does not fit; quotes the text
Result<std::int64_t> parse_int64(std::string_view cell);
/// As parse_int64, but the number may have a fraction of zeros, as programs write whole numbers of a column
/// with gaps: "26.0".
Result<std::int64_t> parse_whole(std::string_view cell, char decimal = '.');
/// The nearest float32; also accepts "inf", "nan" and exponents. A number too small for float32 becomes 0.
/// `decimal`, '.' or ',', begins the fraction.
Result<float> parse_float(std::string_view cell, char decimal = '.');

/// Appends the numbers of a list like "[1, 2 3;4]": white space, commas or semicolons separate them, and the
/// brackets are optional. An empty list has no numbers. A comma that is the `decimal` separates none.
/// \error kInvalidArgument  as above; says which number of the list is wrong
Status parse_int64s(std::string_view cell, std::vector<std::int64_t>& numbers, char decimal = '.');
Status parse_wholes(std::string_view cell, std::vector<std::int64_t>& numbers, char decimal = '.');
Status parse_floats(std::string_view cell, std::vector<float>& numbers, char decimal = '.');

}  // namespace headrace

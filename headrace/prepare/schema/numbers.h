#pragma once

/// \file Reads numbers from cells of text.

#include <cstdint>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// Parses a decimal number, and nothing else but surrounding white space. The locale has no effect.
/// \error kInvalidArgument  the text is not a number, or the number does not fit; quotes the text
Result<std::int64_t> parse_int64(std::string_view cell);
/// Like parse_int64, but the number may have a fraction of zeros ("26.0"). Programs write whole numbers like
/// that in a column with gaps.
Result<std::int64_t> parse_whole(std::string_view cell, char decimal = '.');
/// Parses the nearest float32; also accepts "inf", "nan" and exponents. A number too small for float32
/// becomes 0. `decimal`, '.' or ',', begins the fraction.
Result<float> parse_float(std::string_view cell, char decimal = '.');

/// Appends the numbers of a list like "[1, 2 3;4]". White space, commas or semicolons separate the numbers;
/// the brackets are optional. An empty list has no numbers. A comma that is the `decimal` does not separate.
/// \error kInvalidArgument  as above; says which number of the list is wrong
Status parse_int64s(std::string_view cell, std::vector<std::int64_t>& numbers, char decimal = '.');
Status parse_wholes(std::string_view cell, std::vector<std::int64_t>& numbers, char decimal = '.');
Status parse_floats(std::string_view cell, std::vector<float>& numbers, char decimal = '.');

}  // namespace headrace

#pragma once

/// \file Floating-point numbers of 16 bits. Pure functions.

#include <cstdint>

namespace headrace {

/// The upper half of a float32.
struct Bfloat16 {
  std::uint16_t bits;
};

/// IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction.
struct Float16 {
  std::uint16_t bits;
};

/// Rounds to the nearest number; a tie goes to the one whose last bit is 0. A number that is too large
/// becomes infinite; NaN stays NaN.
Bfloat16 to_bfloat16(float number);
Float16 to_float16(float number);

/// Converts without rounding.
float to_float(Bfloat16 number);
float to_float(Float16 number);

}  // namespace headrace

#pragma once

/// \file Numbers in JSON documents. Numbers that JSON lacks are the texts "NaN", "Infinity" and "-Infinity".

#include <cmath>
#include <limits>

#include "headrace/base/json.h"

namespace headrace {

inline Json number_to_json(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

/// Reads what number_to_json wrote; any other text counts as NaN. \throws JsonError  it is neither a number
/// nor a text
inline double number_from_json(const Json& from) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!from.is_string()) return from.as<double>();
  if (from == "Infinity") return kInfinity;
  if (from == "-Infinity") return -kInfinity;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace headrace

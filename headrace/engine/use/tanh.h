#pragma once

/// \file A tanh that gives the same bits on every machine. The C library's tanh depends on its version and on
/// the processor.

#include <algorithm>
#include <bit>
#include <cstdint>

namespace headrace {

/// tanh(x) = (e − 1) / (e + 1) with e = exp(2x) = 2ⁿ · exp(r), |r| ≤ ln 2 / 2, exp(r) by its Taylor
/// polynomial of degree 9. Its error is at most one unit in the last place of a float near ±1, and at most
/// 1e-9 near 0. Never NaN: a NaN gives −1.
inline float portable_tanh(float x) {
  constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;
  constexpr double kRound = 6755399441055744.0;  // 1.5 · 2⁵²: adding it rounds to an integer
  const double y = 2 * static_cast<double>(std::min(std::max(-10.0F, x), 10.0F));
  const double n = (y * kLog2E + kRound) - kRound;
  const double r = y - n * kLn2;
  double e = 1;
  for (int i = 9; i > 0; --i) e = 1 + e * r / i;
  e *= std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52);
  return static_cast<float>((e - 1) / (e + 1));
}

}  // namespace headrace

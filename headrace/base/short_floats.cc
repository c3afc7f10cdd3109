#include "headrace/base/short_floats.h"

#include <bit>
#include <cmath>
#include <limits>

namespace headrace {

Bfloat16 to_bfloat16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  if (std::isnan(number)) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};  // ties to even
}

Float16 to_float16(float number) {
  const auto sign = static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(number) >> 16) & 0x8000);
  const float size = std::abs(number);
  const auto with_sign = [sign](std::uint32_t bits) {
    return Float16{static_cast<std::uint16_t>(sign | bits)};
  };
  if (std::isnan(number)) return with_sign(0x7e00);
  if (size >= 65520.0F) return with_sign(0x7c00);  // rounds beyond the largest value, to infinity
  if (size < 0x1p-14F) return with_sign(static_cast<std::uint32_t>(std::nearbyint(size * 0x1p24F)));
  const auto bits = std::bit_cast<std::uint32_t>(size) - (112U << 23);  // the exponent of binary16
  return with_sign((bits + 0xfff + ((bits >> 13) & 1)) >> 13);          // ties to even
}

float to_float(Bfloat16 number) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number.bits) << 16);
}

float to_float(Float16 number) {
  const std::uint32_t sign = static_cast<std::uint32_t>(number.bits & 0x8000) << 16;
  const std::uint32_t rest = number.bits & 0x7fff;
  float size = 0;
  if (rest >= 0x7c00) {
    size = rest == 0x7c00 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (rest < 0x400) {
    size = static_cast<float>(rest) * 0x1p-24F;
  } else {
    size = std::bit_cast<float>((rest << 13) + (112U << 23));
  }
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
}

}  // namespace headrace

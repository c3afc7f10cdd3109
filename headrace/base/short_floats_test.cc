#include "headrace/base/short_floats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace headrace {
namespace {

// By the definition: fraction and exponent, without tricks with bits.
float by_definition(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                             : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  if (exponent == 31) size = fraction == 0 ? HUGE_VALF : NAN;
  return std::copysign(size, (bits & 0x8000) != 0 ? -1.0F : 1.0F);
}

TEST(ShortFloats, EveryNumberOf16BitsComesBack) {
  for (std::uint32_t each = 0; each <= 0xffff; ++each) {
    const auto bits = static_cast<std::uint16_t>(each);
    const float half = to_float(Float16{bits}), brain = to_float(Bfloat16{bits});
    EXPECT_EQ(std::bit_cast<std::uint32_t>(brain), each << 16);
    if (std::isnan(half)) {
      EXPECT_TRUE(std::isnan(by_definition(bits)) && std::isnan(to_float(to_float16(half)))) << each;
    } else {
      EXPECT_EQ(half, by_definition(bits)) << each;
      EXPECT_EQ(std::signbit(half), each >= 0x8000) << each;
      EXPECT_EQ(to_float16(half).bits, bits) << each;
    }
    if (!std::isnan(brain)) EXPECT_EQ(to_bfloat16(brain).bits, bits) << each;
  }
}

TEST(ShortFloats, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(to_float16(1 + 0x1p-11F).bits, 0x3c00);             // in the middle: the even one
  EXPECT_EQ(to_float16(1 + 3 * 0x1p-11F).bits, 0x3c02);         // the same, upwards
  EXPECT_EQ(to_float16(1 + 0x1p-11F + 0x1p-20F).bits, 0x3c01);  // just above the middle
  EXPECT_EQ(to_float16(65519.0F).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0F).bits, 0x7c00);  // infinite
  EXPECT_EQ(to_float16(-0x1p-25F).bits, 0x8000);
  EXPECT_EQ(to_bfloat16(1 + 0x1p-8F).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(1 + 3 * 0x1p-8F).bits, 0x3f82);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(NAN))));
}

}  // namespace
}  // namespace headrace

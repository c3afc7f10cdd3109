#include "headrace/net/ignite/value_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "headrace/net/ignite/object_bytes_test.h"

namespace headrace::ignite {
namespace {

std::string text_of(std::int32_t scale, const std::string& digits) {
  const Bytes magnitude = bytes_of_hex(digits);
  const Result<std::string> text = decimal_text({.scale = scale, .magnitude = magnitude});
  return text ? *text : text.error().message;
}

/// By Java: new BigDecimal(…).toString().
TEST(DecimalText, IsJavas) {
  EXPECT_EQ(text_of(0, "7b"), "123");
  EXPECT_EQ(text_of(2, "fb"), "-1.23");
  EXPECT_EQ(text_of(3, "7b"), "0.123");
  EXPECT_EQ(text_of(8, "7b"), "0.00000123");
  EXPECT_EQ(text_of(9, "7b"), "1.23E-7");
  EXPECT_EQ(text_of(-2, "7b"), "1.23E+4");
  EXPECT_EQ(text_of(2, "00"), "0.00");
  EXPECT_EQ(text_of(-3, "00"), "0E+3");
  EXPECT_EQ(text_of(0, "0de0b6b3a7640000"), "1000000000000000000");
  EXPECT_EQ(text_of(std::numeric_limits<std::int32_t>::max(), "01"), "1E-2147483647");
}

TEST(DecimalText, OfAHugeNumberIsAnError) {
  EXPECT_THAT(text_of(0, std::string(2 * (kDecimalBytesLimit + 1), '1')), testing::HasSubstr("1025 bytes"));
}

TEST(UuidText, IsJavas) {
  EXPECT_EQ(uuid_text({0x0123456789abcdef, 0xfedcba9876543210}), "01234567-89ab-cdef-fedc-ba9876543210");
}

TEST(Utf16Text, PairsHalvesAndReplacesSingleOnes) {
  EXPECT_EQ(utf16_text(u"a\u00e9\u20ac\U0001f600"), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  const char16_t halves[] = {0xDE00, 0xD83D, 'x'};
  EXPECT_EQ(utf16_text({halves, 3}), "\xef\xbf\xbd\xef\xbf\xbdx");
}

TEST(ToJson, WritesNumbersThatJsonHasNotAsTexts) {
  EXPECT_EQ(to_json(std::numeric_limits<double>::quiet_NaN())->dump(), R"("NaN")");
  EXPECT_EQ(to_json(-std::numeric_limits<float>::infinity())->dump(), R"("-Infinity")");
}

TEST(ToJson, RefusesArraysThatAreTooLongToShow) {
  const Bytes zeros(kJsonValueLimit + 1);
  EXPECT_FALSE(to_json(PrimitiveArray{TypeCode::kBoolArray, zeros}));
  EXPECT_TRUE(to_json(PrimitiveArray{TypeCode::kByteArray, zeros}));
}

}  // namespace
}  // namespace headrace::ignite

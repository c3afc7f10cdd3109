#include "headrace/prepare/schema/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Numbers, WholeNumbers) {
  EXPECT_EQ(*parse_int64("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*parse_int64(" +17\t"), 17);
  EXPECT_EQ(*parse_int64("007"), 7);
  for (const char* const text : {"", " ", "1.0", "1e3", "0x10", "1 2", "++1", "+-1", "١"})
    EXPECT_EQ(parse_int64(text).error().code, Code::kInvalidArgument) << text;
  EXPECT_THAT(parse_int64("9223372036854775808").error().message, HasSubstr("too large for int64"));
  EXPECT_THAT(parse_int64("1.5").error().message, HasSubstr("\"1.5\" is not a whole number"));
}

TEST(Numbers, WholeNumbersMayHaveAFractionOfZeros) {
  EXPECT_EQ(*parse_whole("26.0"), 26);
  EXPECT_EQ(*parse_whole(" -26.000 "), -26);
  EXPECT_EQ(*parse_whole("+0.0"), 0);
  EXPECT_EQ(*parse_whole("9223372036854775807.0"), std::numeric_limits<std::int64_t>::max()) << "no float";
  EXPECT_EQ(*parse_whole("26"), 26);
  EXPECT_EQ(*parse_whole("26,0", ','), 26);
  for (const char* const text :
       {"", ".0", "-.0", "26.", "26.5", "26.01", "1e3", "1e3.0", "26,0", "2.0.0", "1. 0"})
    EXPECT_EQ(parse_whole(text).error().code, Code::kInvalidArgument) << text;
  EXPECT_FALSE(parse_whole("26.0", ',')) << "a comma begins the fraction";
  std::vector<std::int64_t> whole;
  ASSERT_TRUE(parse_wholes("[1.0, 2; 3.00]", whole));
  EXPECT_THAT(whole, ElementsAre(1, 2, 3));
}

TEST(Numbers, Floats) {
  EXPECT_EQ(*parse_float("0.1"), 0.1F);
  EXPECT_EQ(*parse_float(" +1e3 "), 1000.0F);
  EXPECT_EQ(*parse_float("-.5"), -0.5F);
  EXPECT_TRUE(std::isinf(*parse_float("inf")));
  EXPECT_TRUE(std::isnan(*parse_float("nan")));
  for (const char* const text : {"", "1,5", "1.5x", "0x1p3", "e5", "."})
    EXPECT_FALSE(parse_float(text)) << text;
}

TEST(Numbers, FloatsOutOfRange) {
  EXPECT_THAT(parse_float("1e39").error().message, HasSubstr("too large for float32"));
  EXPECT_FALSE(parse_float("-1e400"));
  EXPECT_EQ(*parse_float("1e-60"), 0.0F);
  EXPECT_EQ(*parse_float("1e-400"), 0.0F);
  EXPECT_EQ(*parse_float("1E-40000"), 0.0F);
  EXPECT_EQ(*parse_float(concat("0.", std::string(400, '0'), "1")), 0.0F);
  EXPECT_FALSE(parse_float(concat("1", std::string(400, '0'), "e-5")));
  EXPECT_TRUE(std::signbit(*parse_float("-1e-60")));
}

TEST(Numbers, EveryFloatThatIsWrittenIsRead) {
  std::mt19937 random(3);
  for (int i = 0; i < 10'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(*parse_float(concat(value)), value);
  }
}

TEST(Numbers, ACommaMayBeginTheFraction) {
  EXPECT_EQ(*parse_float("-2,5", ','), -2.5F);
  EXPECT_EQ(*parse_float("1e3", ','), 1000.0F);
  for (const char* const text : {"1.5", "1.000,5", "1,2,3", ","})
    EXPECT_FALSE(parse_float(text, ',')) << text;
  EXPECT_FALSE(parse_float("2,5"));
  std::vector<float> floats;
  ASSERT_TRUE(parse_floats("[1,5; 2 3,25]", floats, ','));
  EXPECT_THAT(floats, ElementsAre(1.5F, 2, 3.25F));
  std::vector<std::int64_t> whole;
  EXPECT_FALSE(parse_int64s("1,2", whole, ','));
}

TEST(Numbers, Lists) {
  std::vector<float> floats;
  ASSERT_TRUE(parse_floats("[1, 2.5;3\n -4]", floats));
  EXPECT_THAT(floats, ElementsAre(1, 2.5F, 3, -4));
  std::vector<std::int64_t> whole;
  ASSERT_TRUE(parse_int64s(" (7) ", whole));
  ASSERT_TRUE(parse_int64s("8 9", whole));
  EXPECT_THAT(whole, ElementsAre(7, 8, 9));
  std::vector<std::int64_t> none;
  for (const char* const text : {"", "[]", "( )"}) EXPECT_TRUE(parse_int64s(text, none));
  EXPECT_THAT(none, IsEmpty());
  EXPECT_THAT(parse_int64s("[1, x]", none).error().message, HasSubstr("number 2 of the list"));
  EXPECT_FALSE(parse_int64s("[1, [2]]", none));
}

}  // namespace
}  // namespace headrace

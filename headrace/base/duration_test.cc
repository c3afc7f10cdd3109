#include "headrace/base/duration.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Duration, HasAUnit) {
  EXPECT_EQ(parse_duration("250ms"), std::chrono::milliseconds(250));
  EXPECT_EQ(parse_duration("90s"), std::chrono::seconds(90));
  EXPECT_EQ(parse_duration("15m"), std::chrono::minutes(15));
  EXPECT_EQ(parse_duration("1h"), std::chrono::hours(1));
  EXPECT_EQ(parse_duration("7d"), std::chrono::hours(7 * 24));
}

TEST(Duration, OfAnotherFormIsNone) {
  for (const char* text :
       {"", "s", "1", "-1s", "1.5h", "1w", "1 h", "ms", "1.5ms", "4294967295d", "4294967296s"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

}  // namespace
}  // namespace headrace

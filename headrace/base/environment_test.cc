#include "headrace/base/environment.h"

#include <gtest/gtest.h>

#include "headrace/base/iso_time.h"

namespace headrace {
namespace {

TEST(Environment, IsThatOfTheProcess) {
  const Environment environment = Environment::capture();
  EXPECT_TRUE(environment.get("PATH"));
  EXPECT_FALSE(environment.get("HEADRACE_NO_SUCH_VARIABLE"));
}

TEST(Environment, AVariableIsOnOrOff) {
  const Environment environment{.variables = {{"A", "Yes"}, {"B", "off"}, {"C", "maybe"}, {"D", ""}}};
  EXPECT_TRUE(*environment.is_on("A"));
  EXPECT_FALSE(*environment.is_on("B", true));
  EXPECT_TRUE(*environment.is_on("D", true)) << "an empty one counts as unset";
  EXPECT_EQ(environment.is_on("C").error().message, "C is neither 0 nor 1");
}

TEST(FormatTime, IsReadBackAsTheSameSecond) {
  for (const char* text : {"1970-01-01T00:00:00Z", "2000-02-29T23:59:59Z", "2026-11-21T03:26:00Z"})
    EXPECT_EQ(format_time(*parse_iso_time(text)), text);
  const auto later = *parse_iso_time("2026-12-31T23:59:59Z") + std::chrono::milliseconds(999);
  EXPECT_EQ(format_time(later), "2026-12-31T23:59:59Z") << "seconds are not rounded up";
}

TEST(RandomNameBits, AreOtherOnesEachTime) { EXPECT_NE(random_name_bits(), random_name_bits()); }

}  // namespace
}  // namespace headrace

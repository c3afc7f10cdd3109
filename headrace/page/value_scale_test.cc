#include "headrace/page/value_scale.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace headrace {
namespace {

ValueScale scale_of(bool is_log, std::initializer_list<double> values) {
  ValueScale scale(is_log);
  for (const double value : values) scale.include(value);
  return scale;
}

TEST(ValueScale, ValuesLieBetweenTheExtremes) {
  const ValueScale linear = scale_of(false, {-10, 30, NAN, INFINITY});
  EXPECT_EQ(linear.least(), -10);
  EXPECT_EQ(linear.most(), 30);
  EXPECT_EQ(linear.share(0), 0.25);
  EXPECT_EQ(linear.value(0.25), 0);
  const ValueScale logarithmic = scale_of(true, {1, 10'000, 0, -5});
  EXPECT_FALSE(logarithmic.shows(0));
  EXPECT_EQ(logarithmic.least(), 1);
  EXPECT_EQ(logarithmic.share(100), 0.5);
}

TEST(ValueScale, ADifferenceThatIsLostInRoundingIsTheMiddle) {
  const double next = std::nextafter(1000.0, 2000.0);
  EXPECT_EQ(scale_of(true, {1000, next}).share(next), 0.5);
  const double smallest = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(scale_of(false, {0, smallest}).share(smallest), 0.5);
  EXPECT_EQ(scale_of(false, {3, 3}).share(3), 0.5);
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(scale_of(false, {-largest, largest}).share(largest), 1);
}

TEST(ValueScale, FlatValuesGetRoom) {
  for (const double value : {0.0, 3.0, -1e300, std::numeric_limits<double>::max()}) {
    ValueScale scale = scale_of(false, {value});
    scale.widen_if_flat();
    EXPECT_LT(scale.value(0), scale.value(1)) << value;
  }
  ValueScale none(true);
  none.widen_if_flat();
  EXPECT_LT(none.value(0), none.value(1));
}

}  // namespace
}  // namespace headrace

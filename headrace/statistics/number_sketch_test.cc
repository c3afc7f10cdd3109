#include "headrace/statistics/number_sketch.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace headrace {
namespace {

NumberSketch sketch_of(const std::vector<double>& numbers, std::uint64_t first_place = 0) {
  NumberSketch sketch;
  for (const double number : numbers) sketch.add(number, first_place++);
  return sketch;
}

TEST(NumberSketch, TellsMomentsAndQuantilesOfFewNumbersExactly) {
  const NumberSketch sketch = sketch_of({3, 0, -1, 0, 8});
  EXPECT_EQ(sketch.count(), 5);
  EXPECT_EQ(sketch.zeros(), 2);
  EXPECT_EQ(sketch.minimum(), -1);
  EXPECT_EQ(sketch.maximum(), 8);
  EXPECT_DOUBLE_EQ(sketch.mean(), 2);
  EXPECT_DOUBLE_EQ(sketch.standard_deviation(), std::sqrt(54.0 / 5));
  EXPECT_EQ(sketch.quantile(0), -1);
  EXPECT_EQ(sketch.quantile(0.5), 0);
  EXPECT_EQ(sketch.quantile(0.7), 3);
  EXPECT_EQ(sketch.quantile(1), 8);
}

TEST(NumberSketch, OfNothingIsZero) {
  const NumberSketch sketch;
  EXPECT_EQ(sketch.count(), 0);
  EXPECT_EQ(sketch.mean(), 0);
  EXPECT_EQ(sketch.standard_deviation(), 0);
  EXPECT_EQ(sketch.quantile(0.5), 0);
  EXPECT_THAT(sketch.histogram(0, 1, 2), testing::ElementsAre(0, 0));
}

TEST(NumberSketch, CountsWhatIsNotFiniteAndNothingElseOfIt) {
  const double infinity = std::numeric_limits<double>::infinity();
  const NumberSketch sketch = sketch_of({1, infinity, -infinity, std::nan(""), 3});
  EXPECT_EQ(sketch.not_finite(), 3);
  EXPECT_EQ(sketch.count(), 2);
  EXPECT_DOUBLE_EQ(sketch.mean(), 2);
  EXPECT_EQ(sketch.maximum(), 3);
}

TEST(NumberSketch, ComesNearTheQuantilesOfManyNumbers) {
  std::vector<double> numbers(200'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  const NumberSketch sketch = sketch_of(numbers);
  for (const double share : {0.05, 0.25, 0.5, 0.75, 0.95})
    EXPECT_NEAR(sketch.quantile(share) / 200'000, share, 0.04);
  EXPECT_DOUBLE_EQ(sketch.mean(), 99'999.5);
  EXPECT_EQ(sketch.sample().size(), NumberSketch::kSampleSize);
}

TEST(NumberSketch, MergedIsThatOfAllNumbersInWhateverOrder) {
  std::vector<double> numbers(9'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<double>(i));
  const NumberSketch whole = sketch_of(numbers);
  const NumberSketch front = sketch_of({numbers.begin(), numbers.begin() + 4'000});
  const NumberSketch back = sketch_of({numbers.begin() + 4'000, numbers.end()}, 4'000);
  NumberSketch forwards, backwards;
  for (const NumberSketch* const part : {&front, &back}) forwards.merge(*part);
  for (const NumberSketch* const part : {&back, &front}) backwards.merge(*part);
  for (const NumberSketch* const merged : {&forwards, &backwards}) {
    EXPECT_EQ(merged->sample(), whole.sample());
    EXPECT_EQ(merged->minimum(), whole.minimum());
    EXPECT_NEAR(merged->mean(), whole.mean(), 1e-12);
    EXPECT_NEAR(merged->standard_deviation(), whole.standard_deviation(), 1e-12);
  }
}

TEST(NumberSketch, HistogramHoldsEveryNumberOnce) {
  const double greatest = std::numeric_limits<double>::max();
  EXPECT_THAT(sketch_of({0, 1, 2, 4}).histogram(0, 4, 4), testing::ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(sketch_of({-greatest, greatest}).histogram(-greatest, greatest, 4),
              testing::ElementsAre(0.5, 0, 0, 0.5));
  EXPECT_THAT(sketch_of({7, 7}).histogram(7, 7, 2), testing::ElementsAre(1, 0));
}

}  // namespace
}  // namespace headrace

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "headrace/evaluate/binary_scores.h"
#include "headrace/evaluate/regression_scores.h"

namespace headrace {
namespace {

TEST(BinaryScores, TheAreaIsTheShareOfPairsInTheRightOrder) {
  BinaryScores scores(20);
  for (const float score : {0.9F, 0.8F, 0.3F}) scores.add(score, true);
  for (const float score : {0.7F, 0.3F, -1.0F, 0.0F}) scores.add(score, false);
  // 4, 4 and 2 pairs and a tie, of 12.
  EXPECT_DOUBLE_EQ(scores.area_under_roc(), 10.5 / 12);
}

TEST(BinaryScores, TheAreaIsThatOfAllPairs) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> noise;
  BinaryScores scores(20);
  std::vector<float> yes, no;
  for (int i = 0; i < 1000; ++i) {
    const bool is_positive = i % 3 == 0;
    const float score = noise(random) + (is_positive ? 1.0F : 0.0F);
    scores.add(score, is_positive);
    (is_positive ? yes : no).push_back(score);
  }
  double won = 0;
  for (const float a : yes) {
    for (const float b : no) won += a > b ? 1 : a == b ? 0.5 : 0;
  }
  const double exact = won / (static_cast<double>(yes.size()) * static_cast<double>(no.size()));
  EXPECT_NEAR(scores.area_under_roc(), exact, 1e-3);
}

TEST(BinaryScores, WithoutBothKindsThereIsNoArea) {
  BinaryScores scores(20);
  EXPECT_TRUE(std::isnan(scores.area_under_roc()));
  EXPECT_TRUE(scores.roc_curve().empty());
  scores.add(0.5F, true);
  EXPECT_TRUE(std::isnan(scores.area_under_roc()));
  scores.add(0.5F, false);
  EXPECT_EQ(scores.area_under_roc(), 0.5);
}

TEST(BinaryScores, TheCurveHasEachThresholdThatMattersAndTheArea) {
  BinaryScores scores(20);
  for (const float score : {0.9F, 0.3F}) scores.add(score, true);
  for (const float score : {0.7F, 0.3F}) scores.add(score, false);
  using Points = std::vector<std::pair<double, double>>;
  EXPECT_EQ(scores.roc_curve(), (Points{{0, 0}, {0, 0.5}, {0.5, 0.5}, {1, 1}}));
  for (int i = 0; i < 100'000; ++i) scores.add(static_cast<float>(i) / 100'000, i % 3 == 0);
  const Points points = scores.roc_curve();
  EXPECT_LE(points.size(), 202U);
  double area = 0;
  for (std::size_t i = 1; i < points.size(); ++i)
    area += (points[i].first - points[i - 1].first) * (points[i].second + points[i - 1].second) / 2;
  EXPECT_NEAR(area, scores.area_under_roc(), 1e-3);
}

TEST(BinaryScores, NegativeZeroIsZero) {
  BinaryScores scores(20);
  scores.add(-0.0F, true);
  scores.add(0.0F, false);
  EXPECT_EQ(scores.area_under_roc(), 0.5);
}

TEST(BinaryScores, CalibrationCountsTenths) {
  BinaryScores scores(20);
  for (const float score : {0.0F, 0.05F, 0.1F, 0.95F, 1.0F, 7.0F, -3.0F})
    scores.add_probability(score, score > 0.5F);
  const auto& bins = scores.calibration();
  EXPECT_EQ(bins[0].records, 3U);
  EXPECT_EQ(bins[0].positives, 0U);
  EXPECT_NEAR(bins[0].score_sum, 0.05 - 3.0, 1e-6);
  EXPECT_EQ(bins[1].records, 1U);
  EXPECT_EQ(bins[9].records, 3U);
  EXPECT_EQ(bins[9].positives, 3U);
  EXPECT_EQ(bins[5].records, 0U);
}

TEST(RegressionScores, AreThoseOfTheFormulas) {
  RegressionScores scores;
  const double predicted[] = {1, 2, 3, 4}, truth[] = {1, 1, 5, 4};
  for (int i = 0; i < 4; ++i) scores.add(predicted[i], truth[i]);
  EXPECT_EQ(scores.records(), 4U);
  EXPECT_DOUBLE_EQ(scores.mean_absolute_error(), 0.75);
  EXPECT_DOUBLE_EQ(scores.root_mean_squared_error(), std::sqrt(5.0 / 4));
  EXPECT_DOUBLE_EQ(scores.mean_residual(), -0.25);
  EXPECT_DOUBLE_EQ(scores.r_squared(), 1 - 5.0 / 12.75);
}

TEST(RegressionScores, KeepASampleThatIsTheSameForTheSameCalls) {
  RegressionScores few(8), many(8), again(8), none;
  for (int i = 0; i < 5; ++i) few.add(i + 1, i);
  for (int i = 0; i < 1000; ++i) {
    many.add(i + 1, i);
    again.add(i + 1, i);
    none.add(i + 1, i);
  }
  EXPECT_EQ(few.sample().size(), 5U);
  EXPECT_EQ(many.sample().size(), 8U);
  EXPECT_EQ(many.sample(), again.sample());
  double largest = 0;
  for (const auto& [truth, predicted] : many.sample()) {
    EXPECT_EQ(predicted, truth + 1);
    largest = std::max(largest, truth);
  }
  EXPECT_GT(largest, 100) << "not only the first ones";
  EXPECT_TRUE(none.sample().empty());
}

TEST(RegressionScores, OfEqualTruthsHaveNoRSquared) {
  RegressionScores scores;
  scores.add(1, 2);
  scores.add(3, 2);
  EXPECT_TRUE(std::isnan(scores.r_squared()));
}

}  // namespace
}  // namespace headrace

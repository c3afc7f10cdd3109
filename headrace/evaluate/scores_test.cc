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
  // 4 + 4 + (2 and a tie) of 12.
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
  scores.add(0.5F, true);
  EXPECT_TRUE(std::isnan(scores.area_under_roc()));
  scores.add(0.5F, false);
  EXPECT_EQ(scores.area_under_roc(), 0.5);
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

TEST(RegressionScores, OfEqualTruthsHaveNoRSquared) {
  RegressionScores scores;
  scores.add(1, 2);
  scores.add(3, 2);
  EXPECT_TRUE(std::isnan(scores.r_squared()));
}

}  // namespace
}  // namespace headrace

#include "headrace/evaluate/confusion_matrix.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace headrace {
namespace {

// Three classes; the second is never predicted, the third never true.
ConfusionMatrix example() {
  ConfusionMatrix matrix(3);
  for (int i = 0; i < 6; ++i) matrix.add(0, 0);
  for (int i = 0; i < 2; ++i) matrix.add(0, 2);
  for (int i = 0; i < 4; ++i) matrix.add(1, 0);
  return matrix;
}

TEST(ConfusionMatrix, CountsTrueClassesByRow) {
  const ConfusionMatrix matrix = example();
  EXPECT_EQ(matrix.count(0, 2), 2);
  EXPECT_EQ(matrix.count(2, 0), 0);
  EXPECT_EQ(matrix.count(1, 0), 4);
  EXPECT_EQ(matrix.records(), 12);
  EXPECT_DOUBLE_EQ(matrix.accuracy(), 0.5);
}

TEST(ConfusionMatrix, ScoresAClassByWhatItIsAndByWhatIsTakenForIt) {
  const ClassScores scores = example().scores(0);
  EXPECT_DOUBLE_EQ(scores.precision, 0.6);
  EXPECT_DOUBLE_EQ(scores.recall, 0.75);
  EXPECT_DOUBLE_EQ(scores.f1, 2 * 0.6 * 0.75 / (0.6 + 0.75));
  EXPECT_EQ(scores.support, 8);
}

TEST(ConfusionMatrix, ScoresOfAClassWithoutRecordsOrAnswersAreZero) {
  const ClassScores never_predicted = example().scores(1), never_true = example().scores(2);
  EXPECT_EQ(never_predicted.precision, 0);
  EXPECT_EQ(never_predicted.recall, 0);
  EXPECT_EQ(never_predicted.f1, 0);
  EXPECT_EQ(never_predicted.support, 4);
  EXPECT_EQ(never_true.recall, 0);
  EXPECT_EQ(never_true.support, 0);
  EXPECT_EQ(ConfusionMatrix(2).accuracy(), 0);
}

TEST(Highest, IsTheFirstOfEqualScoresAndNoneWhereOneIsNotFinite) {
  EXPECT_EQ(highest(std::array{0.1F, 0.7F, 0.2F}), 1);
  EXPECT_EQ(highest(std::array{0.5F, 0.5F}), 0);
  EXPECT_EQ(highest(std::array{0.5F, std::numeric_limits<float>::quiet_NaN()}), std::nullopt);
  EXPECT_EQ(highest(std::array{std::numeric_limits<float>::infinity(), 0.0F}), std::nullopt);
  EXPECT_EQ(highest({}), std::nullopt);
}

}  // namespace
}  // namespace headrace

#include "headrace/study/one_pass_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "headrace/study/curve_study.h"

namespace headrace {
namespace {

TEST(OnePassCurve, PutsBatchesBetweenPowersOfTwoTogether) {
  const auto runs =
      runs_of_one_pass({{128, 0.5}, {160, 0.4}, {192, 0.3}, {224, 0.2}, {256, 0.2}, {1024, 0.1}});
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 5U);
  const double size = std::pow(128.0 * 160 * 192 * 224, 0.25);
  EXPECT_DOUBLE_EQ((*runs)[0].size, size);
  EXPECT_DOUBLE_EQ((*runs)[0].error, 0.35) << "the first and the fourth";
  EXPECT_DOUBLE_EQ((*runs)[1].error, 0.4);
  EXPECT_DOUBLE_EQ((*runs)[2].error, 0.3);
  EXPECT_DOUBLE_EQ((*runs)[3].size, 256);
  EXPECT_DOUBLE_EQ((*runs)[4].error, 0.1);
}

TEST(OnePassCurve, TakesASizeAsOneRunIfABatchHasNoError) {
  const auto runs = runs_of_one_pass({{1, 0.5}, {2, 0.4}, {3, 0}, {4, 0.1}});
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 3U);
  EXPECT_DOUBLE_EQ((*runs)[1].error, 0.2);
}

TEST(OnePassCurve, RefusesWhatGivesNoCurve) {
  EXPECT_THAT(runs_of_one_pass({{1, 1}, {2, 1}, {3, 1}}).error().message,
              testing::HasSubstr("too few for a curve"));
  EXPECT_THAT(runs_of_one_pass({{1, 1}, {2, 1}, {4, 0}}).error().message,
              testing::HasSubstr("--metric loss"));
  EXPECT_FALSE(runs_of_one_pass({{0, 1}, {2, 1}, {4, 1}}));
  EXPECT_FALSE(runs_of_one_pass({{NAN, 1}, {2, 1}, {4, 1}, {8, 1}}));
  EXPECT_FALSE(runs_of_one_pass(std::vector<ScoredBatch>(kMostCurveRuns + 1, {1, 1})));
}

TEST(OnePassCurve, HasTheExponentOfItsBatches) {
  std::vector<ScoredBatch> batches;
  for (int i = 0; i < 64; ++i) {
    const double records = 128 * std::pow(2, i / 6.0);
    batches.push_back({records, (1 + (i % 2 == 0 ? 0.02 : -0.02)) * std::pow(records, -0.35)});
  }
  CurveQuestions questions;
  questions.bootstrap.replicates = 200;
  const auto study = study_curve(*runs_of_one_pass(batches), questions);
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_NEAR(study->exponent->middle, 0.35, 0.05);
}

}  // namespace
}  // namespace headrace

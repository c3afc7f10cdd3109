#include <gmock/gmock.h>

#include <cmath>

#include "headrace/study/curve_study.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::Not;

CurveStudy page_study(std::uint64_t seed, double floor) {
  std::vector<MeasuredError> runs;
  for (double size = 1000; size <= 32'000; size *= 2) {
    for (const double side : {-1.0, 1.0})
      runs.push_back({size, (floor + 8 * std::pow(size, -0.5)) * (1 + 0.02 * side)});
  }
  return *study_curve(runs, {.target = 0.05, .bootstrap = {.seed = seed, .replicates = 100}});
}

TEST(CurvePage, ShowsTheSentenceTheCurveAndTheResiduals) {
  const CurveStudy study = page_study(1, 0.02);
  const std::string page = curve_study_to_html(study, nullptr, nullptr);
  EXPECT_THAT(page, HasSubstr("With 32,000 records"));
  EXPECT_THAT(page, HasSubstr("<polygon"));
  EXPECT_THAT(page, HasSubstr("Residuals"));
  EXPECT_THAT(page, HasSubstr("power law with floor"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(CurvePage, DrawsTheOtherCurveInTheOtherColour) {
  const CurveStudy study = page_study(1, 0.02), other = page_study(2, 0.1);
  const CurveComparison comparison = compare_curves(study, other);
  const std::string page = curve_study_to_html(study, &other, &comparison);
  EXPECT_THAT(page, HasSubstr("the second curve"));
  EXPECT_THAT(page, HasSubstr("the first is better"));
}

TEST(CurvePage, IsTheSameForTheSameStudy) {
  EXPECT_EQ(curve_study_to_html(page_study(3, 0.02), nullptr, nullptr),
            curve_study_to_html(page_study(3, 0.02), nullptr, nullptr));
}

}  // namespace
}  // namespace headrace

#include "headrace/study/measured_curve.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "headrace/study/isotonic.h"

namespace headrace {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<MeasuredError> runs_at(const std::vector<std::pair<double, double>>& sizes_and_errors) {
  std::vector<MeasuredError> out;
  for (const auto& [size, error] : sizes_and_errors) out.push_back({size, error});
  return out;
}

TEST(SummariseCurve, GroupsRunsBySizeSmallestFirst) {
  const auto points = summarise_curve(runs_at({{400, 0.2}, {100, 0.5}, {200, 0.3}, {100, 0.3}}));
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 3U);
  EXPECT_EQ(points->front().size, 100);
  EXPECT_DOUBLE_EQ(points->front().mean, 0.4);
  EXPECT_THAT(points->front().errors, ElementsAre(0.3, 0.5));
  EXPECT_EQ(points->back().size, 400);
}

TEST(SummariseCurve, SmoothsTheSpreadOverTheSizes) {
  // The spread is 10 % of the mean at two sizes, and by chance 0 at the one between.
  const auto points =
      summarise_curve(runs_at({{100, 0.9}, {100, 1.1}, {200, 0.7}, {200, 0.7}, {400, 0.45}, {400, 0.55}}));
  ASSERT_TRUE(points);
  EXPECT_GT((*points)[1].spread, 0);
}

TEST(SummariseCurve, GuessesTheSpreadFromTheSmoothnessIfEachSizeHasOneRun) {
  const auto smooth = summarise_curve(runs_at({{100, 0.8}, {200, 0.4}, {400, 0.2}, {800, 0.1}}));
  const auto rough = summarise_curve(runs_at({{100, 0.8}, {200, 0.6}, {400, 0.15}, {800, 0.12}}));
  ASSERT_TRUE(smooth && rough);
  EXPECT_LT((*smooth)[1].spread / (*smooth)[1].mean, 0.011);
  EXPECT_GT((*rough)[1].spread / (*rough)[1].mean, 0.1);
}

TEST(SummariseCurve, RefusesWhatIsNoCurve) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& runs :
       {runs_at({}), runs_at({{100, 0.5}, {200, 0.4}}), runs_at({{100, 0.5}, {100, 0.4}}),
        runs_at({{100, 0.5}, {200, 0}, {400, 0.1}}), runs_at({{100, 0.5}, {200, nan}, {400, 0.1}}),
        runs_at({{100, 0.5}, {200, -1}, {400, 0.1}}), runs_at({{100, 0.5}, {200, 1e-300}, {400, 0.1}}),
        runs_at({{0, 0.5}, {200, 0.4}, {400, 0.1}}), runs_at({{nan, 0.5}, {200, 0.4}, {400, 0.1}})}) {
    const auto points = summarise_curve(runs);
    ASSERT_FALSE(points);
    EXPECT_EQ(points.error().code, Code::kInvalidArgument);
  }
}

TEST(ParseCurveCsv, ReadsColumnsByName) {
  const auto runs = parse_curve_csv("seed,Score,size,seconds\n1,0.5, 100,3\r\n# later\n\n2,\"0.4\",200,6",
                                    CurveMetric::kError);
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ(runs->back().size, 200);
  EXPECT_EQ(runs->back().error, 0.4);
  EXPECT_EQ(runs->back().seconds, 6);
}

TEST(ParseCurveCsv, TurnsAnAccuracyIntoAnError) {
  const auto runs = parse_curve_csv("size,score\n100,0.75\n", CurveMetric::kAccuracy);
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->front().error, 0.25);
}

TEST(ParseCurveCsv, NamesTheLineThatIsWrong) {
  for (const char* text :
       {"size,score\n100,0.5\n200,many\n", "size,score\n100,0.5\n200\n", "size,score\n100,0.5\n200,nan\n"}) {
    const auto runs = parse_curve_csv(text, CurveMetric::kError);
    ASSERT_FALSE(runs);
    EXPECT_EQ(runs.error().code, Code::kDataLoss);
    EXPECT_THAT(runs.error().message, HasSubstr("line 3"));
  }
  EXPECT_THAT(parse_curve_csv("a,b\n1,2\n", CurveMetric::kError).error().message,
              HasSubstr("size and score"));
  EXPECT_FALSE(parse_curve_csv("", CurveMetric::kError));
}

TEST(Isotonic, PoolsNeighboursThatRise) {
  std::vector<CurvePoint> points;
  for (const double mean : {0.5, 0.3, 0.4, 0.1})
    points.push_back(
        {.size = 100.0 + static_cast<double>(points.size()), .errors = {mean}, .mean = mean, .spread = 0.01});
  EXPECT_THAT(isotonic_errors(points),
              ElementsAre(0.5, DoubleNear(0.35, 1e-12), DoubleNear(0.35, 1e-12), 0.1));
  EXPECT_THAT(sizes_that_rise(points), ElementsAre(101, 102));
}

}  // namespace
}  // namespace headrace

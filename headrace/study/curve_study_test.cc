#include "headrace/study/curve_study.h"

#include <gmock/gmock.h>

#include <cmath>

#include "headrace/base/json.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr double kSides[] = {-1.0, 0.2, 0.8};

template <typename Error>
std::vector<MeasuredError> study_runs(const Error& error, double noise = 0.02,
                                      double seconds_per_record = 0) {
  std::vector<MeasuredError> out;
  for (double size = 1000; size <= 32'000; size *= 2) {
    for (const double side : kSides)
      out.push_back({size, error(size) * (1 + noise * side), seconds_per_record * size});
  }
  return out;
}

double falling_error(double size) { return 0.02 + 8 * std::pow(size, -0.5); }

CurveStudy studied(const std::vector<MeasuredError>& runs, CurveQuestions questions = {}) {
  questions.bootstrap.replicates = 200;
  return *study_curve(runs, questions);
}

TEST(StudyCurve, ForecastsTheErrorWithinItsInterval) {
  const CurveStudy study = studied(study_runs(falling_error));
  EXPECT_EQ(study.state, CurveState::kFalling);
  ASSERT_THAT(study.forecasts, SizeIs(3));
  for (const Forecast& forecast : study.forecasts) {
    EXPECT_LE(forecast.error.low, falling_error(forecast.size));
    EXPECT_GE(forecast.error.high, falling_error(forecast.size));
  }
  ASSERT_TRUE(study.exponent);
  EXPECT_LE(study.exponent->low, 0.5);
  EXPECT_GE(study.exponent->high, 0.5);
}

TEST(StudyCurve, ForecastsOneTrainingWithTheSpreadOfItsSeeds) {
  const double noise = 0.2;
  const CurveStudy study = studied(study_runs(falling_error, noise));
  for (const Forecast& forecast : study.forecasts) {
    EXPECT_LT(forecast.one_training.low, forecast.error.low);
    EXPECT_GT(forecast.one_training.high, forecast.error.high);
    for (const double side : kSides) {
      const double one = falling_error(forecast.size) * (1 + noise * side);
      EXPECT_LE(forecast.one_training.low, one);
      EXPECT_GE(forecast.one_training.high, one);
    }
  }
  const Forecast quiet = studied(study_runs(falling_error, 0.001)).forecasts.front();
  EXPECT_NEAR(quiet.one_training.low, quiet.error.low, 0.01 * quiet.error.low);
  EXPECT_NEAR(quiet.one_training.high, quiet.error.high, 0.01 * quiet.error.high);
}

TEST(StudyCurve, SaysHowManyRecordsATargetNeedsAndCosts) {
  const double target = falling_error(64'000);
  const CurveStudy study =
      studied(study_runs(falling_error), {.target = target, .prices = {.per_record = 0.5}});
  ASSERT_TRUE(study.target);
  EXPECT_LE(study.target->size.low, 64'000);
  EXPECT_GE(study.target->size.high, 64'000);
  ASSERT_TRUE(study.target->cost);
  EXPECT_DOUBLE_EQ(*study.target->cost, 0.5 * (study.target->size.middle - 32'000));
  EXPECT_THAT(curve_sentence(study), HasSubstr("takes about"));
  EXPECT_THAT(curve_sentence(study), HasSubstr("twice the data, for about 16,000, makes it"));
  EXPECT_THAT(curve_sentence(study), testing::ContainsRegex("\\), for about [0-9,]+\\.$"));
  EXPECT_THAT(curve_sentence(studied(study_runs(falling_error), {.target = target})),
              testing::Not(HasSubstr("for about")));
}

TEST(StudyCurve, SaysThatATargetBelowTheFloorIsOutOfReach) {
  const CurveStudy study = studied(
      study_runs([](double size) { return 0.2 + 100 * std::pow(size, -0.9); }, 0.005), {.target = 0.1});
  EXPECT_TRUE(study.target->is_unreachable());
  EXPECT_FALSE(study.target->cost);
  EXPECT_THAT(curve_sentence(study), HasSubstr("out of reach"));
  const auto json = parse_json(curve_study_to_json(study, nullptr));
  ASSERT_TRUE(json);
  EXPECT_TRUE((*json)["target"]["size"]["median"].is_null());
}

TEST(StudyCurve, PricesRecordsAndHours) {
  const CurveStudy study = studied(study_runs(falling_error, 0.02, 0.36),
                                   {.prices = {.per_record = 0.01, .per_hour = 2}, .more_records = 10'000});
  // 0.36 s a record: 10,000 records train for an hour.
  ASSERT_TRUE(study.more_records.hours && study.more_records.cost && study.one_hour);
  EXPECT_NEAR(*study.more_records.hours, 1, 1e-9);
  EXPECT_NEAR(*study.more_records.cost, 100 + 2, 1e-9);
  EXPECT_NEAR(study.one_hour->size, 42'000, 1e-6);
  EXPECT_GT(study.more_records.gain.middle, 0);
}

TEST(StudyCurve, KnowsNoHoursWithoutSeconds) {
  const CurveStudy study = studied(study_runs(falling_error), {.prices = {.per_hour = 2}});
  EXPECT_FALSE(study.one_hour);
  EXPECT_FALSE(study.more_records.cost);
}

TEST(StudyCurve, SeesARisingMetric) {
  const CurveStudy study = studied(study_runs([](double size) { return 1 - falling_error(size); }));
  EXPECT_EQ(study.state, CurveState::kRising);
  EXPECT_THAT(curve_sentence(study), HasSubstr("accuracy"));
  EXPECT_THAT(study.rising_sizes, Not(IsEmpty()));
}

TEST(StudyCurve, SeesAModelThatStillGuesses) {
  const CurveStudy study = studied(study_runs([](double) { return 0.5; }));
  EXPECT_EQ(study.state, CurveState::kSmallData);
}

TEST(StudyCurve, SeesAPlateau) {
  const CurveStudy study =
      studied(study_runs([](double size) { return 0.2 + 0.3 * std::exp(-size / 2500); }, 0.004));
  EXPECT_EQ(study.state, CurveState::kPlateau);
}

TEST(StudyCurve, SaysWhenThreeSizesTellNothing) {
  std::vector<MeasuredError> runs;
  for (const double size : {1000.0, 2000.0, 4000.0}) {
    for (const double side : kSides) runs.push_back({size, falling_error(size) * (1 + 0.22 * side)});
  }
  const CurveStudy study = studied(runs);
  EXPECT_EQ(study.state, CurveState::kNotIdentifiable);
  EXPECT_THAT(study.remarks, testing::Contains(HasSubstr("fewer than 5 sizes")));
}

TEST(StudyCurve, ChoosesANextSizeThatNarrowsTheInterval) {
  const CurveStudy study = studied(study_runs(falling_error));
  EXPECT_GE(study.next.size, 1000);
  EXPECT_LE(study.next.size, 256'000);
  EXPECT_GT(study.next.narrows_by, 0);
  EXPECT_LE(study.next.narrows_by, 1);
}

TEST(StudyCurve, MeasuresNoLargerSizeNextIfNewRecordsAreDear) {
  const auto runs = study_runs(falling_error, 0.02, 0.001);
  const CurveStudy cheap = studied(runs, {.prices = {.per_record = 0, .per_hour = 1}});
  const CurveStudy dear = studied(runs, {.prices = {.per_record = 100, .per_hour = 1}});
  EXPECT_LE(dear.next.size, cheap.next.size);
}

TEST(StudyCurve, RefusesQuestionsOutOfRange) {
  const auto runs = study_runs(falling_error);
  for (const CurveQuestions& questions :
       {CurveQuestions{.target = 0.0}, CurveQuestions{.target = std::nan("")},
        CurveQuestions{.prices = {.per_record = -1}}, CurveQuestions{.prices = {.per_hour = -1}}}) {
    const auto study = study_curve(runs, questions);
    ASSERT_FALSE(study);
    EXPECT_EQ(study.error().code, Code::kInvalidArgument);
  }
}

TEST(StudyCurve, EndsEarlyWhenStopped) {
  std::stop_source stop;
  stop.request_stop();
  const auto study = study_curve(study_runs(falling_error), {.bootstrap = {.stop = stop.get_token()}});
  ASSERT_FALSE(study);
  EXPECT_EQ(study.error().code, Code::kCancelled);
}

TEST(StudyCurve, StaysFiniteForExtremeRuns) {
  const std::vector<std::vector<MeasuredError>> curves = {
      {{1, 1e12}, {2, 1}, {1e15, 1e-12}},
      {{1, 0.5}, {2, 0.5}, {3, 0.5}},
      {{1e14, 0.5}, {1e14 + 1, 0.4}, {1e15, 0.3}},
      {{1, 1e-12}, {10, 1e-12}, {100, 1e-12}},
      {{1, 1}, {1, 1}, {10, 1}, {10, 1}, {100, 1}, {100, 1}},
      {{1, 1e-9}, {1, 1}, {10, 1e-9}, {10, 1}, {100, 1e-9}, {100, 1}}};
  for (const auto& runs : curves) {
    const CurveStudy study = studied(runs, {.target = 0.1, .prices = {.per_record = 1, .per_hour = 1}});
    for (const Forecast& forecast : study.forecasts) {
      EXPECT_TRUE(std::isfinite(forecast.error.low)) << runs[1].size;
      EXPECT_TRUE(std::isfinite(forecast.error.middle)) << runs[1].size;
      EXPECT_TRUE(std::isfinite(forecast.error.high)) << runs[1].size;
    }
    EXPECT_TRUE(parse_json(curve_study_to_json(study, nullptr)));
    EXPECT_THAT(curve_study_to_html(study, nullptr, nullptr), Not(HasSubstr("nan")));
  }
}

TEST(CompareCurves, FindsTheBetterCurveAndTheCrossing) {
  // They are equal at 64,000 records.
  const auto flat = [](double size) { return 0.3 * std::pow(size / 64'000, -0.2); };
  const auto steep = [](double size) { return 0.3 * std::pow(size / 64'000, -0.6); };
  const CurveStudy first = studied(study_runs(flat, 0.01));
  const CurveStudy second = studied(study_runs(steep, 0.01), {.bootstrap = {.seed = 2}});
  const CurveComparison comparison = compare_curves(first, second);
  ASSERT_THAT(comparison.at, SizeIs(4));
  EXPECT_GT(comparison.at.front().first_is_better, 0.95);
  EXPECT_LT(comparison.at.back().first_is_better, 0.05);
  ASSERT_TRUE(comparison.crossing);
  EXPECT_LE(comparison.crossing->low, 64'000);
  EXPECT_GE(comparison.crossing->high, 64'000);
  EXPECT_THAT(comparison_sentence(comparison), HasSubstr("cross at about"));
}

TEST(CompareCurves, SaysNothingOfACrossingOfEqualCurves) {
  const CurveStudy first = studied(study_runs(falling_error));
  const CurveStudy second = studied(study_runs(falling_error), {.bootstrap = {.seed = 2}});
  const std::string sentence = comparison_sentence(compare_curves(first, second));
  EXPECT_THAT(sentence, HasSubstr("neither is clearly better"));
  EXPECT_THAT(sentence, Not(HasSubstr("cross")));
}

TEST(CurveStudyToJson, HasEveryAnswerWithSixDigits) {
  const CurveStudy study = studied(study_runs(falling_error), {.target = 0.04});
  const auto json = parse_json(curve_study_to_json(study, nullptr));
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["format"], Json("headrace.learning-curve"));
  EXPECT_EQ((*json)["version"], Json(1));
  EXPECT_EQ((*json)["points"].values().size(), 6U);
  EXPECT_EQ((*json)["fits"].values().size(), 4U);
  EXPECT_NEAR((*json)["exponent"]["median"].as<double>(), study.exponent->middle,
              1e-5 * study.exponent->middle);
  EXPECT_NEAR((*json)["more_records"]["one_training"]["high"].as<double>(),
              study.more_records.one_training.high, 1e-5 * study.more_records.one_training.high);
  EXPECT_TRUE((*json)["one_hour"].is_null());
  EXPECT_TRUE((*json)["comparison"].is_null());
}

}  // namespace
}  // namespace headrace

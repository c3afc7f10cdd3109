#include "headrace/history/run_charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "headrace/metrics/segment.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;

class RunChartsTest : public testing::Test {
 protected:
  // A run that has logged each metric at these steps, the step itself as value, every 10 ms from then on.
  void add_run(const std::string& id, const std::vector<std::string>& names,
               const std::vector<std::int64_t>& steps, std::int64_t first_time_us = 0) {
    std::vector<MetricPoint> points;
    for (std::uint32_t metric = 0; metric < names.size(); ++metric) {
      for (std::size_t i = 0; i < steps.size(); ++i)
        points.push_back({metric, steps[i], first_time_us + 10'000 * static_cast<std::int64_t>(i),
                          static_cast<double>(steps[i])});
    }
    const Location log{store_, id, {"memory", "test", id}};
    ASSERT_TRUE(store_->write(log.at(segment_name(0, 0)).key,
                              encode_segment({.points_digest = Bytes(32)}, names, points), {}));
    auto opened = MetricLog::open(log, {});
    ASSERT_TRUE(opened) << opened.error().message;
    std::vector<PartLog> parts;
    parts.push_back({0, *std::move(opened)});
    runs_.push_back({id, RunMetrics(std::move(parts))});
  }
  RunCharts charts(const RunChartRequest& request) const {
    auto found = chart_runs(runs_, request);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *std::move(found) : RunCharts();
  }

  std::shared_ptr<Store> store_ = make_memory_store("test");
  std::vector<RunToChart> runs_;
};

std::vector<std::int64_t> range_of(const ChartedSeries& series) {
  return {series.range.first, series.range.last};
}

TEST_F(RunChartsTest, EachMetricHasTheRangeOfAllRuns) {
  add_run("a", {"accuracy", "loss"}, {0, 1, 2});
  add_run("b", {"loss"}, {5, 9});
  const RunCharts found = charts({});
  ASSERT_EQ(found.series.size(), 3U);
  EXPECT_THAT(found.metric_names(), ElementsAre("accuracy", "loss"));
  EXPECT_THAT(range_of(found.series[0]), ElementsAre(0, 2));
  EXPECT_THAT(range_of(found.series[1]), ElementsAre(0, 9));
  EXPECT_THAT(range_of(found.series[2]), ElementsAre(0, 9));
  EXPECT_EQ(found.series[2].run, "b");
  ASSERT_EQ(found.series[2].columns.size(), 10U);
  EXPECT_EQ(found.series[2].columns[9].last, 9);
  EXPECT_TRUE(std::isnan(found.series[2].columns[0].last));
}

TEST_F(RunChartsTest, OneRangeMayBeShared) {
  add_run("a", {"loss"}, {0, 1, 2});
  add_run("b", {"accuracy"}, {5, 9});
  const RunCharts found = charts({.shares_range = true});
  EXPECT_THAT(range_of(found.series[0]), ElementsAre(0, 9));
  EXPECT_THAT(range_of(found.series[1]), ElementsAre(0, 9));
}

TEST_F(RunChartsTest, StepsMayBeChosen) {
  add_run("a", {"loss"}, {0, 1, 2, 3});
  EXPECT_THAT(range_of(charts({.first = 1, .last = 2}).series[0]), ElementsAre(1, 2));
  EXPECT_THAT(range_of(charts({.first = 2}).series[0]), ElementsAre(2, 3));
  EXPECT_THAT(range_of(charts({.last = 1}).series[0]), ElementsAre(0, 1));
  EXPECT_THAT(range_of(charts({.first = 7}).series[0]), ElementsAre(7, 7));  // there is nothing
}

TEST_F(RunChartsTest, RelativeTimesBeginWithTheRun) {
  add_run("a", {"loss"}, {0, 1, 2}, 1'790'000'000'000'000);
  add_run("b", {"loss"}, {0, 1}, 1'800'000'000'000'000);
  const RunCharts found = charts({.axis = RunChartAxis::kRelative, .columns = 3});
  for (const ChartedSeries& series : found.series) EXPECT_THAT(range_of(series), ElementsAre(0, 20'000));
  EXPECT_EQ(found.series[0].columns[2].last, 2);
  EXPECT_EQ(found.series[1].columns[0].last, 0);
  EXPECT_EQ(found.series[1].columns[2].finite, 0U);
}

TEST_F(RunChartsTest, HowBusyTheMachineWasIsShownIfItIsNamed) {
  add_run("a", {"loss", "system/cpu_percent"}, {0, 1});
  EXPECT_THAT(charts({}).metric_names(), ElementsAre("loss"));
  EXPECT_THAT(charts({.metrics = {"system/cpu_percent"}}).metric_names(), ElementsAre("system/cpu_percent"));
}

TEST_F(RunChartsTest, UnknownMetricsAndTooManyColumnsAreRefused) {
  add_run("a", std::vector<std::string>{"accuracy", "loss"}, {0, 1});
  EXPECT_EQ(chart_runs(runs_, {.metrics = {"los"}}).error().code, Code::kNotFound);
  EXPECT_EQ(chart_runs({}, {}).error().code, Code::kNotFound);
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back("metric_" + std::to_string(i));
  add_run("b", names, {0, 1});
  EXPECT_EQ(chart_runs(runs_, {.columns = kMostChartColumns}).error().code, Code::kInvalidArgument);
}

TEST_F(RunChartsTest, ALineIsTheMeanOfWhatCameBefore) {
  add_run("a", {"loss"}, {0, 4});
  const std::vector<ChartColumn> columns = charts({}).series[0].columns;
  EXPECT_EQ(smoothed_line(columns, 0).back(), 4);
  EXPECT_NEAR(smoothed_line(columns, 0.5).back(), (0.25 * 0 + 0.5 * 4) / 0.75, 1e-12);
}

}  // namespace
}  // namespace headrace

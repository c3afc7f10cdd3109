#include "headrace/metrics/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/metrics/compact.h"
#include "headrace/metrics/version1_segment_test.h"
#include "headrace/record/event.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using Points = std::vector<MetricPoint>;

class CountingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
    ++rounds;
    return ForwardingStore::read_many(requests, options);
  }
  std::atomic<int> rounds{0};  // threads share the requests
};

class ChartTest : public testing::Test {
 protected:
  // A log of one metric, "loss", in segments of these points.
  Location write_log(const std::string& name, const std::vector<Points>& segments,
                     std::optional<std::int64_t> from_step = {}) const {
    const Location log{store, name, {"memory", "test", name}};
    Bytes previous;
    for (std::uint64_t i = 0; i < segments.size(); ++i) {
      const std::vector<std::string> names = {"loss"};
      const Bytes segment = encode_segment(
          {.first = i, .last = i, .previous = previous, .points_digest = Bytes(32), .from_step = from_step},
          names, segments[i]);
      EXPECT_TRUE(store->write(log.at(segment_name(i, i)).key, segment, {}));
      previous = sha256(segment);
    }
    return log;
  }
  // Segments of version 1, and one of these points.
  Location write_old_log(const std::string& name, std::uint8_t old_segments, const Points& points) const {
    const Location log{store, name, {"memory", "test", name}};
    for (std::uint8_t i = 0; i < old_segments; ++i)
      EXPECT_TRUE(store->write(log.at(segment_name(i, i)).key, version1_segment(i), {}));
    const std::vector<std::string> names = {"loss"};
    const Bytes segment = encode_segment({.first = old_segments, .last = old_segments}, names, points);
    if (points.empty()) return log;
    EXPECT_TRUE(store->write(log.at(segment_name(old_segments, old_segments)).key, segment, {}));
    return log;
  }
  static RunMetrics open(const std::vector<Location>& latest_first) {
    std::vector<PartLog> parts;
    for (const Location& log : latest_first) {
      auto opened = MetricLog::open(log, {});
      EXPECT_TRUE(opened) << opened.error().message;
      parts.push_back({0, *std::move(opened)});
    }
    return RunMetrics(std::move(parts));
  }
  static std::vector<ChartColumn> chart(const RunMetrics& run, ChartRange range, const ChartOptions& options,
                                        ChartCost* cost = nullptr) {
    const std::vector<ChartSeries> series = {{.metrics = &run, .name = "loss", .range = range}};
    auto columns = chart_columns(series, options, cost);
    EXPECT_TRUE(columns) << columns.error().message;
    return columns ? columns->front() : std::vector<ChartColumn>();
  }

  std::shared_ptr<CountingStore> store = std::make_shared<CountingStore>(make_memory_store("test"));
};

// The columns of all points that count, each in that of its own x.
std::vector<ChartColumn> exact_chart(const RunMetrics& run, ChartRange range, const ChartOptions& options) {
  const auto points = run.read("loss", 0);
  EXPECT_TRUE(points) << points.error().message;
  ChartColumns chart(range.first, range.last, options.columns);
  const auto& x = options.axis == ChartAxis::kStep ? points->steps : points->times_us;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] >= range.first && x[i] <= range.last) chart.add(x[i], points->values[i]);
  }
  return chart.columns();
}

void expect_same(const std::vector<ChartColumn>& found, const std::vector<ChartColumn>& exact) {
  ASSERT_EQ(found.size(), exact.size());
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].finite, exact[i].finite) << i;
    ASSERT_EQ(found[i].not_finite, exact[i].not_finite) << i;
    ASSERT_TRUE(same(found[i].minimum, exact[i].minimum)) << i;
    ASSERT_TRUE(same(found[i].maximum, exact[i].maximum)) << i;
    ASSERT_TRUE(same(found[i].last, exact[i].last)) << i;
  }
}

// Each point counts once, in the column of its own x or in the one before: so does each extreme.
void expect_near(const std::vector<ChartColumn>& found, const std::vector<ChartColumn>& exact) {
  ASSERT_EQ(found.size(), exact.size());
  const ChartColumn none;
  std::uint64_t found_before = 0, exact_before = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ChartColumn& before = i == 0 ? none : found[i - 1];
    const ChartColumn& after = i + 1 == exact.size() ? none : exact[i + 1];
    const ChartColumn &here = found[i], &own = exact[i];
    found_before += here.finite + here.not_finite;
    exact_before += own.finite + own.not_finite;
    ASSERT_GE(found_before, exact_before) << i;
    ASSERT_LE(found_before, exact_before + after.finite + after.not_finite) << i;
    if (own.finite > 0) {
      ASSERT_GE(std::fmax(before.maximum, here.maximum), own.maximum) << i;
      ASSERT_LE(std::fmin(before.minimum, here.minimum), own.minimum) << i;
    }
    if (here.finite > 0) {
      ASSERT_LE(here.maximum, std::fmax(own.maximum, after.maximum)) << i;
      ASSERT_GE(here.minimum, std::fmin(own.minimum, after.minimum)) << i;
      ASSERT_TRUE(here.minimum <= here.last && here.last <= here.maximum) << i;
    } else {
      ASSERT_TRUE(std::isnan(here.minimum) && std::isnan(here.maximum) && std::isnan(here.last)) << i;
    }
  }
  ASSERT_EQ(found_before, exact_before);
}

enum class Steps { kRegular, kIrregular, kBack };

/// Random points, beginning at a step.
class RandomPoints {
 public:
  explicit RandomPoints(std::uint32_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  Points segment(Steps kind, std::size_t count, std::int64_t& step) {
    const std::uint64_t distance = below(5);
    const bool has_odd = below(3) == 0;
    Points points;
    for (std::size_t i = 0; i < count; ++i) {
      double value = static_cast<float>(below(1000)) / 8;
      if (below(500) == 0) value *= 1000;
      if (has_odd && below(40) == 0) value = below(3) == 0 ? NAN : below(2) == 0 ? INFINITY : -INFINITY;
      points.push_back({0, step, 1'000'000 + 10 * step + static_cast<std::int64_t>(below(10)), value});
      step += static_cast<std::int64_t>(kind == Steps::kIrregular ? below(9) : distance);
      if (kind == Steps::kIrregular && below(2000) == 0) step += 10'000;
      if (kind == Steps::kBack && below(300) == 0) step -= static_cast<std::int64_t>(below(400));
    }
    return points;
  }

  std::vector<Points> segments(Steps kind, std::size_t count, std::size_t most_points, std::int64_t step) {
    std::vector<Points> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(segment(kind, 1 + below(most_points), step));
    return all;
  }

  ChartRange zoom(ChartRange all) {
    const auto length = static_cast<std::uint64_t>(all.last - all.first) + 1;
    const auto a = static_cast<std::int64_t>(below(length)), b = static_cast<std::int64_t>(below(length));
    return below(4) == 0 ? all : ChartRange{all.first + std::min(a, b), all.first + std::max(a, b)};
  }

 private:
  std::mt19937_64 random_;
};

TEST_F(ChartTest, ASpikeSurvivesAnyZoom) {
  RandomPoints random(1);
  for (int repeat = 0; repeat < 9; ++repeat) {
    const auto kind = static_cast<Steps>(repeat % 3);
    const std::string name = concat("run", repeat, "/");
    const auto later = static_cast<std::int64_t>(random.below(40'000));
    const RunMetrics run = open({write_log(name + "b", random.segments(kind, 3, 20'000, later), later),
                                 write_log(name + "a", random.segments(kind, 3, 30'000, -500))});
    for (const ChartAxis axis : {ChartAxis::kStep, ChartAxis::kTime}) {
      const auto all = chart_range({.metrics = &run, .name = "loss"}, {.axis = axis});
      ASSERT_TRUE(all && *all);
      for (int zoom = 0; zoom < 5; ++zoom) {
        const ChartOptions options{.axis = axis, .columns = 1 + random.below(400), .threads = 2};
        const ChartRange range = random.zoom(**all);
        expect_near(chart(run, range, options), exact_chart(run, range, options));
      }
    }
  }
}

TEST_F(ChartTest, WhereColumnsAreNarrowItIsExact) {
  RandomPoints random(2);
  for (int repeat = 0; repeat < 9; ++repeat) {
    const auto kind = static_cast<Steps>(repeat % 3);
    const RunMetrics run = open({write_log(concat("exact", repeat), random.segments(kind, 2, 20'000, 7))});
    const auto all = chart_range({.metrics = &run, .name = "loss"}, {});
    ASSERT_TRUE(all && *all);
    const ChartRange range{(**all).first + static_cast<std::int64_t>(random.below(3000)), (**all).last};
    const ChartOptions options{.columns = 90'000};
    expect_same(chart(run, range, options), exact_chart(run, range, options));
  }
}

Points regular(std::size_t count) {
  Points points;
  for (std::size_t i = 0; i < count; ++i)
    points.push_back({0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(10 * i + i % 7), 0.5});
  return points;
}

TEST(ChartColumns, EveryPlaceCountsInTheColumnWhoseRangeHasIt) {
  std::mt19937_64 random(6);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto first = static_cast<std::int64_t>(random() % 2000) - 1000;
    const auto length = static_cast<std::int64_t>(1 + random() % 500);
    ChartColumns chart(first, first + length - 1, 1 + random() % 60);
    for (std::int64_t x = first; x < first + length; ++x) chart.add(x, static_cast<double>(x));
    const std::vector<ChartColumn> columns = chart.columns();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::int64_t end = i + 1 < columns.size() ? chart.begin(i + 1) : first + length;
      ASSERT_EQ(columns[i].minimum, static_cast<double>(chart.begin(i)))
          << length << " in " << columns.size();
      ASSERT_EQ(columns[i].maximum, static_cast<double>(end - 1)) << length << " in " << columns.size();
      ASSERT_EQ(columns[i].finite, static_cast<std::uint64_t>(end - chart.begin(i)));
    }
  }
}

TEST(ChartColumns, GroupsAddedTogetherAreThoseAddedOneByOne) {
  std::mt19937_64 random(7);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::uint64_t distance = random() % 40, count = 1 + random() % 100;
    const auto last = static_cast<std::int64_t>(count * distance);
    const std::size_t width = 1 + random() % 60;
    ChartColumns together(-5, last, width), alone(-5, last, width);
    std::vector<double> minima, maxima, lasts;
    for (std::uint64_t i = 0; i < count; ++i) {
      minima.push_back(-static_cast<double>(random() % 1000));
      maxima.push_back(static_cast<double>(random() % 1000));
      lasts.push_back(static_cast<double>(random() % 1000));
      alone.add_group(static_cast<std::int64_t>(i * distance),
                      {.minimum = minima[i], .maximum = maxima[i], .last = lasts[i], .finite = 32});
    }
    together.add_regular_groups(0, distance, {minima, maxima, lasts, 32});
    expect_same(together.columns(), alone.columns());
  }
}

TEST_F(ChartTest, ReadsGroupsInOneRoundAndLittle) {
  const RunMetrics run = open({write_log("large", {regular(100'000), regular(100'000)})});
  ChartCost whole;
  EXPECT_EQ(chart(run, {0, 99'999}, {.columns = 10}, &whole).size(), 10U);
  EXPECT_EQ(whole.rounds, 0U);  // the last levels are in the footers
  ChartCost zoomed;
  chart(run, {2'345, 94'321}, {.columns = 100}, &zoomed);
  EXPECT_EQ(zoomed.rounds, 1U);
  EXPECT_LE(zoomed.requests, 2U * 3);
  ChartCost by_time;
  chart(run, {0, 2'000'000}, {.axis = ChartAxis::kTime, .columns = 100}, &by_time);
  EXPECT_EQ(by_time.rounds, 2U);
}

TEST_F(ChartTest, MoreSamplesThanAreHeldAtOnceTakeMoreRounds) {
  RandomPoints random(5);
  std::vector<Points> segments;
  std::int64_t step = 0;
  for (int i = 0; i < 4; ++i) segments.push_back(random.segment(Steps::kIrregular, 5'000, step));
  const RunMetrics run = open({write_log("samples", segments)});
  const ChartRange range{100, step - 100};
  ChartCost few, many;
  const auto held = chart(run, range, {.columns = 50, .most_samples = 320}, &many);
  expect_same(held, chart(run, range, {.columns = 50}, &few));
  expect_near(held, exact_chart(run, range, {.columns = 50}));
  EXPECT_EQ(few.rounds, 2U);
  EXPECT_EQ(many.rounds, 2 * few.rounds);
}

TEST_F(ChartTest, ALogThatIsCompactedMeanwhileIsListedAgain) {
  RandomPoints random(3);
  const Location log = write_log("moved", random.segments(Steps::kRegular, 5, 9'000, 0));
  const RunMetrics run = open({log});
  const auto range = chart_range({.metrics = &run, .name = "loss"}, {});
  const ChartOptions options{.columns = 300};
  const auto before = chart(run, **range, options);
  ASSERT_TRUE(compact_log(log, {}));
  expect_near(chart(run, **range, options), exact_chart(run, **range, options));
  expect_near(before, exact_chart(run, **range, options));
}

TEST_F(ChartTest, AnyRangeOf64BitsHasColumns) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Points points;
  for (int i = 0; i < 300; ++i) points.push_back({0, i < 150 ? kLeast + i : kMost - 300 + i, 0, i * 1.0});
  const RunMetrics run = open({write_log("far", {points, {{0, kMost, 0, 5}}})});
  for (const std::size_t columns : {1, 2, 7}) {
    const auto found = chart(run, {kLeast, kMost}, {.columns = columns});
    expect_near(found, exact_chart(run, {kLeast, kMost}, {.columns = columns}));
    EXPECT_EQ(found.size(), columns);
  }
}

// The ends of 64 bits, where sums and differences are too large.
TEST_F(ChartTest, RegularPointsAnywhereCount) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Points least;
  for (int i = 0; i < 50; ++i) least.push_back({0, kLeast + i, 0, i * 1.0});
  const Points far = {
      {0, -9'000'000'000'000'000'000, 0, 1}, {0, 0, 0, 2}, {0, 9'000'000'000'000'000'000, 0, 3}};
  const RunMetrics run = open({write_log("ends", {least, {{0, kMost, 0, 5}}, far})});
  for (const ChartRange range : {ChartRange{kLeast, kMost}, ChartRange{kLeast + 20, kMost - 1},
                                 ChartRange{8'999'999'999'999'999'999, kMost}, ChartRange{kMost, kMost}}) {
    for (const std::size_t columns : {1, 2, 7})
      expect_same(chart(run, range, {.columns = columns}), exact_chart(run, range, {.columns = columns}));
  }
}

TEST_F(ChartTest, SegmentsOfVersion1AreReadWhole) {
  RandomPoints random(4);
  std::int64_t step = 400;
  const Location log = write_old_log("old", 2, random.segment(Steps::kRegular, 3000, step));
  const Location later = write_log("later", {random.segment(Steps::kIrregular, 900, step = 100)}, 100);
  for (const RunMetrics& run : {open({log}), open({later, log}), open({write_old_log("only", 1, {})})}) {
    for (const ChartAxis axis : {ChartAxis::kStep, ChartAxis::kTime}) {
      const auto all = chart_range({.metrics = &run, .name = "loss"}, {.axis = axis});
      ASSERT_TRUE(all && *all);
      for (const std::size_t columns : {1, 30, 5000}) {
        const ChartOptions options{.axis = axis, .columns = columns};
        expect_near(chart(run, **all, options), exact_chart(run, **all, options));
        const ChartRange range = random.zoom(**all);
        expect_near(chart(run, range, options), exact_chart(run, range, options));
      }
    }
  }
  const RunMetrics run = open({later, log});
  EXPECT_EQ(points_without_pyramid({.metrics = &run, .name = "loss"}, ChartAxis::kStep), 400U);
  const RunMetrics back = open({write_log("back", {{{0, 5, 0, 1}, {0, 7, 1, 1}, {0, 6, 2, 1}}})});
  EXPECT_EQ(points_without_pyramid({.metrics = &back, .name = "loss"}, ChartAxis::kStep), 3U);
  EXPECT_EQ(points_without_pyramid({.metrics = &back, .name = "loss"}, ChartAxis::kTime), 0U);
}

TEST_F(ChartTest, RangesOfVersion1TakeOneRound) {
  const RunMetrics run = open({write_old_log("old", 5, {})});
  const std::vector<ChartSeries> series = {{.metrics = &run, .name = "loss"},
                                           {.metrics = &run, .name = "few"}};
  store->rounds = 0;
  const auto ranges = chart_ranges(series, {});
  ASSERT_TRUE(ranges) << ranges.error().message;
  EXPECT_EQ(store->rounds, 1);
  ASSERT_TRUE((*ranges)[0] && (*ranges)[1]);
  EXPECT_EQ((*ranges)[0]->first, 10);
  EXPECT_EQ((*ranges)[0]->last, 408);
}

TEST_F(ChartTest, ALogOfVersion1ThatIsCompactedMeanwhileIsListedAgain) {
  const Location log = write_old_log("moved", 3, regular(200));
  const RunMetrics run = open({log});
  const auto before = exact_chart(run, {0, 408}, {.columns = 40});
  ASSERT_TRUE(compact_log(log, {}));
  const auto range = chart_range({.metrics = &run, .name = "loss"}, {});
  ASSERT_TRUE(range) << range.error().message;
  EXPECT_EQ((*range)->first, 0);
  EXPECT_EQ((*range)->last, 408);
  expect_near(chart(run, {0, 408}, {.columns = 40}), before);
  const auto now = MetricLog::open(log, {});
  ASSERT_EQ(now->segments().size(), 1U);
  EXPECT_EQ(now->segments()[0].footer.version, 2U);
}

TEST_F(ChartTest, EventFilesCountIfALaterAttemptHasSupersededAllPoints) {
  Bytes file;
  EventEncoder encoder;
  encoder.begin_file(file, 1, "test");
  for (int step = 0; step < 3; ++step) encoder.scalar(file, {2.0, step}, "loss", 0.5F);
  ASSERT_TRUE(store->write("events/tfevents.1", file, {}));
  const Location folder{store, "events", {"memory", "test", "events"}};
  const auto events = std::make_shared<EventMetrics>("keras", folder, EventMetricsOptions());
  ASSERT_TRUE(events->read_all({}));
  const std::vector<std::string> names = {"keras/loss"};
  const Points points = {{0, 50, 0, 1}};
  const std::vector<std::pair<std::string, std::int64_t>> logs = {{"second", 10}, {"first", 0}};
  std::vector<PartLog> parts;
  for (const auto& [name, from_step] : logs) {
    const Location log{store, name, {"memory", "test", name}};
    const bool is_first = from_step == 0;
    const Bytes segment = encode_segment({.from_step = from_step}, names, is_first ? points : Points());
    ASSERT_TRUE(store->write(log.at(segment_name(0, 0)).key, segment, {}));
    parts.push_back({0, *MetricLog::open(log, {})});
  }
  const RunMetrics run(std::move(parts), {{0, events}});
  const ChartSeries series{.metrics = &run, .name = "keras/loss", .range = {0, 2}};
  const auto range = chart_range(series, {});
  ASSERT_TRUE(range && *range);
  EXPECT_EQ((*range)->last, 2);
  const auto columns = chart_columns({&series, 1}, {.columns = 1});
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->front().front().finite, 3U);
}

TEST_F(ChartTest, AMetricThatIsNotThereHasNoRangeAndEmptyColumns) {
  const RunMetrics run = open({write_log("some", {regular(200)})});
  const auto range = chart_range({.metrics = &run, .name = "other"}, {});
  ASSERT_TRUE(range);
  EXPECT_FALSE(*range);
  const std::vector<ChartSeries> series = {{.metrics = &run, .name = "other", .range = {0, 9}}};
  const auto columns = chart_columns(series, {.columns = 5});
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->front()[2].finite, 0U);
}

TEST_F(ChartTest, ARefreshedLogReadsNewSegmentsAlone) {
  const std::vector<Points> segments = {regular(200), regular(300)};
  const Location log = write_log("live", {segments[0]});
  const auto opened = MetricLog::open(log, {});
  write_log("live", segments);
  // Found by a reader that reads the first segment again.
  ASSERT_TRUE(store->write(log.at("000000").key, Bytes(opened->segments()[0].stored.size_bytes), {}));
  const auto refreshed = opened->refreshed();
  ASSERT_TRUE(refreshed) << refreshed.error().message;
  EXPECT_EQ(refreshed->segments().size(), 2U);
  EXPECT_FALSE(MetricLog::open(log, {}));
}

}  // namespace
}  // namespace headrace

#include "headrace/metrics/segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "headrace/metrics/segment_footer.h"
#include "headrace/metrics/version1_segment_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

struct Row {
  std::int64_t step;
  std::int64_t time_us;
  std::uint64_t bits;
  auto operator<=>(const Row&) const = default;
};

using Rows = std::map<std::string, std::vector<Row>>;

Rows rows_of(const Bytes& segment) {
  const ReadSegment read = read_from(segment);
  auto footer = read_footer(read, segment.size());
  EXPECT_TRUE(footer) << footer.error().message;
  Rows rows;
  for (const SegmentColumn& column : footer->columns) {
    const auto axis = read_axis(read, footer->axes[column.axis]);
    const auto values = read_values(read, *footer, column);
    EXPECT_TRUE(axis && values);
    for (std::size_t i = 0; i < values->size(); ++i)
      rows[column.name].push_back(
          {axis->steps[i], axis->times_us[i], std::bit_cast<std::uint64_t>((*values)[i])});
  }
  return rows;
}

TEST(MetricSegment, HoldsAnyPointsInTheirOrder) {
  std::mt19937_64 random(7);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::vector<std::string> names = {"loss", "accuracy", "a/b \n\"ü\"", "never"};
    std::vector<MetricPoint> points;
    Rows expected;
    for (std::uint64_t count = random() % 400; count > 0; --count) {
      MetricPoint point{.metric = static_cast<std::uint32_t>(random() % 3),
                        .step = static_cast<std::int64_t>(random()),
                        .time_us = static_cast<std::int64_t>(random() >> 12),
                        .value = std::bit_cast<double>(random())};
      if (repeat % 2 == 0) point.value = static_cast<float>(random() % 1000) / 8;
      points.push_back(point);
      expected[names[point.metric]].push_back(
          {point.step, point.time_us, std::bit_cast<std::uint64_t>(point.value)});
    }
    EXPECT_EQ(rows_of(encode_segment({}, names, points)), expected);
  }
}

TEST(MetricSegment, TheHeadComesBack) {
  const SegmentHead head{.first = 3,
                         .last = 9,
                         .previous = Bytes(32, std::byte{1}),
                         .points_digest = Bytes(32, std::byte{2}),
                         .last_digest = Bytes(32, std::byte{3}),
                         .from_step = -5,
                         .is_end = true};
  const Bytes segment = encode_segment(head, {}, {});
  const auto footer = read_footer(read_from(segment), segment.size());
  ASSERT_TRUE(footer) << footer.error().message;
  EXPECT_EQ(footer->head.first, 3U);
  EXPECT_EQ(footer->head.last, 9U);
  EXPECT_EQ(footer->head.previous, head.previous);
  EXPECT_EQ(footer->head.points_digest, head.points_digest);
  EXPECT_EQ(footer->head.last_digest, head.last_digest);
  EXPECT_EQ(footer->head.from_step, -5);
  EXPECT_TRUE(footer->head.is_end);
}

std::vector<MetricPoint> noisy(std::size_t metrics, std::size_t steps, bool single) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<MetricPoint> points;
  for (std::size_t step = 0; step < steps; ++step) {
    const auto time = static_cast<std::int64_t>(1'790'000'000'000'000 + 50'000 * step + random() % 2'000);
    for (std::size_t metric = 0; metric < metrics; ++metric) {
      const double value = std::exp(-0.002 * static_cast<double>(step)) + noise(random);
      points.push_back({static_cast<std::uint32_t>(metric), static_cast<std::int64_t>(step), time,
                        single ? static_cast<double>(static_cast<float>(value)) : value});
    }
  }
  return points;
}

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("metric/" + std::to_string(i));
  return all;
}

TEST(MetricSegment, IsSmall) {
  const auto single = encode_segment({}, names(100), noisy(100, 1000, true));
  EXPECT_LE(static_cast<double>(single.size()) / 100'000, 4.0);
  const auto full = encode_segment({}, names(100), noisy(100, 1000, false));
  EXPECT_LE(static_cast<double>(full.size()) / 100'000, 10.0);
}

TEST(MetricSegment, APyramidShowsEverySpike) {
  auto points = noisy(1, 100'000, true);
  points[77'777].value = 1000;
  points[5].value = -1000;
  points[6].value = NAN;
  points[50'000].value = INFINITY;
  const Bytes segment = encode_segment({}, names(1), points);
  const auto footer = read_footer(read_from(segment), segment.size());
  ASSERT_TRUE(footer);
  const SegmentColumn& column = footer->columns.at(0);
  EXPECT_EQ(column.maximum, INFINITY);
  EXPECT_EQ(column.minimum, -1000);
  EXPECT_EQ(column.nan_count, 1U);
  EXPECT_EQ(column.not_finite, 2U);
  ASSERT_EQ(level_count(points.size()), 3U);
  for (std::size_t level = 0; level < level_count(points.size()); ++level) {
    const auto groups = read_level(read_from(segment), *footer, column, level);
    ASSERT_TRUE(groups) << groups.error().message;
    const std::uint64_t size = points_per_group(level);
    ASSERT_EQ(groups->minima.size(), (points.size() + size - 1) / size);
    for (std::size_t i = 0; i < groups->minima.size(); ++i) {
      double least = INFINITY;
      double most = -INFINITY;
      double last = NAN;
      std::size_t not_finite = 0;
      for (std::size_t k = i * size; k < std::min<std::size_t>(points.size(), (i + 1) * size); ++k) {
        if (!std::isfinite(points[k].value)) {
          ++not_finite;
          continue;
        }
        last = points[k].value;
        least = std::fmin(least, last);
        most = std::fmax(most, last);
      }
      ASSERT_EQ(groups->minima[i], least) << level << ' ' << i;
      ASSERT_EQ(groups->maxima[i], most) << level << ' ' << i;
      ASSERT_EQ(groups->lasts[i], last) << level << ' ' << i;
      ASSERT_EQ(groups->not_finite[i], not_finite) << level << ' ' << i;
    }
  }
}

TEST(MetricSegment, EveryFlippedBitIsFound) {
  const Bytes segment = encode_segment({}, names(3), noisy(3, 40, false));
  const Rows rows = rows_of(segment);
  for (std::size_t bit = 0; bit < 8 * segment.size(); bit += 3) {
    Bytes damaged = segment;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const ReadSegment read = read_from(damaged);
    auto footer = read_footer(read, damaged.size());
    bool is_found = !footer;
    if (footer) {
      for (const SegmentAxis& axis : footer->axes) is_found |= !read_axis(read, axis);
      for (const SegmentColumn& column : footer->columns) is_found |= !read_values(read, *footer, column);
    }
    EXPECT_TRUE(is_found) << bit;
  }
}

TEST(MetricSegment, Version1IsRead) {
  const Bytes segment = version1_segment();
  const auto footer = read_footer(read_from(segment), segment.size());
  ASSERT_TRUE(footer) << footer.error().message;
  EXPECT_EQ(footer->version, 1U);
  EXPECT_EQ(footer->head.from_step, 4);
  const Rows rows = rows_of(segment);
  ASSERT_EQ(rows.at("loss").size(), 200U);
  for (std::int64_t i = 0; i < 200; ++i) {
    const Row& row = rows.at("loss")[static_cast<std::size_t>(i)];
    EXPECT_EQ(row.step, 10 + 2 * i);
    EXPECT_EQ(row.time_us, 1'000'000 + i * i);
    const auto value = std::bit_cast<double>(row.bits);
    if (i == 7) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(value, 0.5 * static_cast<double>(i % 5));
    }
  }
  EXPECT_EQ(rows.at("few").size(), 3U);
  EXPECT_EQ(rows.at("few")[2].step, -2);
}

TEST(MetricSegment, WhatIsNoSegmentIsRefused) {
  for (const Bytes& other :
       {Bytes(), Bytes(15), Bytes(100), to_bytes("HRMETRIC"), to_bytes("xxxxxxxxHRMETRIC")}) {
    const auto footer = read_footer(read_from(other), other.size());
    ASSERT_FALSE(footer);
    EXPECT_EQ(footer.error().code, Code::kDataLoss);
    EXPECT_THAT(footer.error().message, HasSubstr("damaged segment"));
  }
}

SegmentFooter footer_of_axes(std::size_t axes, std::uint64_t points) {
  SegmentFooter footer;
  for (std::size_t i = 0; i < axes; ++i)
    footer.axes.push_back(
        {.points = points, .steps = {.distance = 0}, .times_us = {.distance = 0}, .last_step = 0});
  return footer;
}

TEST(MetricSegment, AxesThatNoColumnNeedsAreRefused) {
  const auto many = parse_footer(encode_footer(footer_of_axes(3, kMostAxisPoints)));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Code::kDataLoss);
  EXPECT_THAT(many.error().message, HasSubstr("more points than a segment can have"));
  SegmentFooter footer = footer_of_axes(1, 10);
  const auto unnamed = parse_footer(encode_footer(footer));
  ASSERT_FALSE(unnamed);
  EXPECT_THAT(unnamed.error().message, HasSubstr("an axis that no column names"));
  footer.columns.push_back({.name = "loss", .values = {{}}});
  EXPECT_TRUE(parse_footer(encode_footer(footer)));
}

}  // namespace
}  // namespace headrace

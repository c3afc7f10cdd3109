#include "headrace/metrics/segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>

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
  const Bytes segment = encode_segment({}, names(1), points);
  const auto footer = read_footer(read_from(segment), segment.size());
  ASSERT_TRUE(footer);
  const SegmentColumn& column = footer->columns.at(0);
  EXPECT_EQ(column.maximum, 1000);
  EXPECT_EQ(column.minimum, -1000);
  EXPECT_EQ(column.nan_count, 1U);
  ASSERT_EQ(column.levels.size(), 3U);
  for (std::size_t level = 0; level < column.levels.size(); ++level) {
    const auto pairs = read_level(read_from(segment), *footer, column, level);
    ASSERT_TRUE(pairs) << pairs.error().message;
    const std::uint64_t group = points_per_pair(level);
    ASSERT_EQ(pairs->size(), (points.size() + group - 1) / group);
    for (std::size_t i = 0; i < pairs->size(); ++i) {
      double least = INFINITY;
      double most = -INFINITY;
      for (std::size_t k = i * group; k < std::min<std::size_t>(points.size(), (i + 1) * group); ++k) {
        least = std::fmin(least, points[k].value);
        most = std::fmax(most, points[k].value);
      }
      ASSERT_EQ((*pairs)[i].minimum, least) << level << ' ' << i;
      ASSERT_EQ((*pairs)[i].maximum, most) << level << ' ' << i;
    }
  }
  EXPECT_LE(footer->columns[0].levels.back().size, 16 * 8 + 20U);
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

TEST(MetricSegment, WhatIsNoSegmentIsRefused) {
  for (const Bytes& other :
       {Bytes(), Bytes(15), Bytes(100), to_bytes("HRMETRIC"), to_bytes("xxxxxxxxHRMETRIC")}) {
    const auto footer = read_footer(read_from(other), other.size());
    ASSERT_FALSE(footer);
    EXPECT_EQ(footer.error().code, Code::kDataLoss);
    EXPECT_THAT(footer.error().message, HasSubstr("damaged segment"));
  }
}

}  // namespace
}  // namespace headrace

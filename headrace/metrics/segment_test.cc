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

// 200 points of "loss" with a pyramid, and 3 of "few", written in version 1.
constexpr std::string_view kVersion1 =
    "28b52ffd20c855000018140f000100420a0c0128b52ffd20cc7500003880897afd887a040100420a180128b52ffd6020"
    "022d0100a000008040c00000c000c03f00007f403f40407f400500344041cb8035140a5a32dea8022c28b52ffd202065"
    "000030000040000000010036c002000100000a005500fe5500ff5500ff5500ff5500ff5500ffd520f73f007f08011000"
    "18002a20020202020202020202020202020202020202020202020202020202020202020230083801422408c801120d08"
    "00101318e3f4e4f70620c8011a0d0813101718d193a7f40320cc0120b006421c0803120a086e1003188df6989e071a0a"
    "0871100318aca0d5d10d20034a440a046c6f737310001a0d082a102f18afabe6cd0820a0062004290000000000000000"
    "31000000000000004039000000000000004040014a0c0859101518fae4c8c10320204a300a0366657710011a0a087410"
    "181883b2e2b80a200829555555555555d53f31abaaaaaaaaaa024039abaaaaaaaaaa0240e8000000d8e328e348524d45"
    "54524943";

TEST(MetricSegment, Version1IsRead) {
  Bytes segment;
  for (std::size_t i = 0; i < kVersion1.size(); i += 2)
    segment.push_back(static_cast<std::byte>(std::stoi(std::string(kVersion1.substr(i, 2)), nullptr, 16)));
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

}  // namespace
}  // namespace headrace

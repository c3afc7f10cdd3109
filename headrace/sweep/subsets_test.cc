#include "headrace/sweep/subsets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace headrace {
namespace {

TEST(SubsetSizes, AreHalvesOfOneAnother) {
  EXPECT_EQ(*subset_sizes(1601, 5), (std::vector<std::uint64_t>{1601, 801, 401, 201, 101}));
}

TEST(SubsetSizes, OfTooFewRecordsAreRefused) {
  EXPECT_TRUE(subset_sizes(160, 5));
  const auto refused = subset_sizes(100, 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("give fewer --sizes"), std::string::npos);
  EXPECT_FALSE(subset_sizes(0, 1));
}

TEST(SubsetPlace, FollowsVanDerCorput) {
  const std::vector<double> places = {0, 1, 0.5, 0.25, 0.75, 0.125, 0.625, 0.375, 0.875};
  for (std::size_t number = 0; number < places.size(); ++number)
    EXPECT_EQ(subset_place(number), places[number]) << number;
}

TEST(SubsetRange, HoldsTheSmallerOnesOfItsSeed) {
  for (const std::uint64_t part : {160ULL, 997ULL, 1'000'003ULL}) {
    for (std::uint64_t number = 0; number < 20; ++number) {
      RecordRange before{0, part};
      const std::vector<std::uint64_t> sizes = *subset_sizes(part, 5);
      for (const std::uint64_t size : sizes) {
        const RecordRange range = subset_range(part, size, number);
        EXPECT_EQ(range.count, size);
        EXPECT_GE(range.first, before.first);
        EXPECT_LE(range.first + range.count, before.first + before.count);
        before = range;
      }
    }
  }
}

TEST(SubsetRange, OfOtherSeedsIsApartWhereItIsSmall) {
  EXPECT_EQ(subset_range(160, 10, 0), (RecordRange{0, 10}));
  EXPECT_EQ(subset_range(160, 10, 1), (RecordRange{150, 10}));
  EXPECT_EQ(subset_range(160, 10, 2), (RecordRange{75, 10}));
  EXPECT_EQ(subset_range(160, 160, 7), (RecordRange{0, 160}));
}

using Counts = std::vector<std::uint64_t>;

const std::vector<Counts> kClasses = {{1000, 500, 100, 3, 1}, {50, 50}, {7}, Counts(37, 5), {999'983, 17, 1}};

TEST(StratumSizes, KeepEachClassWithinHalfARecordOfItsShareAndNoneWithoutARecord) {
  for (const Counts& counts : kClasses) {
    const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    for (std::uint64_t size = 1; size <= all; size += 1 + size / 50) {
      const Counts sizes = stratum_sizes(counts, size);
      for (std::size_t c = 0; c < counts.size(); ++c) {
        const double share =
            static_cast<double>(size) * static_cast<double>(counts[c]) / static_cast<double>(all);
        EXPECT_GE(sizes[c], 1U);
        EXPECT_NEAR(static_cast<double>(sizes[c]), std::max(share, 0.5), 0.5) << "raised to 1 if need be";
      }
    }
    EXPECT_EQ(stratum_sizes(counts, all), counts);
  }
  EXPECT_EQ(stratum_sizes(Counts{1000, 500, 100, 3, 1}, 401), (Counts{250, 125, 25, 1, 1}));
}

TEST(StratifiedRanges, HoldTheSmallerOnesOfTheirSeed) {
  for (const Counts& counts : kClasses) {
    const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    for (std::uint64_t number = 0; number < 9; ++number) {
      std::vector<RecordRange> before = stratified_ranges(counts, all, number);
      for (std::uint64_t size = all; size > 0; size -= 1 + size / 30) {
        const std::vector<RecordRange> ranges = stratified_ranges(counts, size, number);
        for (std::size_t c = 0; c < counts.size(); ++c) {
          EXPECT_GE(ranges[c].first, before[c].first);
          EXPECT_LE(ranges[c].first + ranges[c].count, before[c].first + before[c].count);
        }
        before = ranges;
      }
    }
  }
}

}  // namespace
}  // namespace headrace

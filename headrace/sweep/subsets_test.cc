#include "headrace/sweep/subsets.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace headrace

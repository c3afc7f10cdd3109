#include "headrace/stream/arrangement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace headrace {
namespace {

constexpr std::uint64_t kSeed = 10208797545828837415U;

std::vector<std::uint32_t> count_to(std::size_t size) {
  std::vector<std::uint32_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

std::map<std::uint32_t, std::uint64_t> times_of(const std::vector<std::uint32_t>& order) {
  std::map<std::uint32_t, std::uint64_t> times;
  for (const std::uint32_t i : order) ++times[i];
  return times;
}

TEST(Arrangement, IsAsPublished) {
  EXPECT_EQ(arrangement_seed(44, 1, 2), kSeed);
  EXPECT_EQ(balanced_order(std::vector<std::int64_t>{0, 0, 1, kNoValue, 0, 0, 0, 7, 1, 0}, kSeed),
            (std::vector<std::uint32_t>{0, 8, 7, 3, 7, 6, 2, 2, 7, 9}));
  EXPECT_EQ(
      bucketed_order(std::vector<std::int64_t>{9, 3, 3, kNoValue, 40, 1, 7, 3, 22, 5, 2, 8}, kSeed, 10, 4),
      (std::vector<std::uint32_t>{0, 1, 4, 6, 8, 9, 2, 3, 5, 7, 10, 11}));
}

TEST(BalancedOrder, GivesEachClassAndEachOfItsRecordsEquallyOften) {
  std::vector<std::int64_t> classes;  // 1, 10, 100 and 889 records of four classes
  for (std::int64_t i = 0; i < 1000; ++i)
    classes.push_back(i % 10 > 0 ? 5 : i % 100 > 0 ? -1 : i == 0 ? 9 : 7);
  const auto order = balanced_order(classes, kSeed);
  const auto times = times_of(order);
  std::map<std::int64_t, std::vector<std::uint64_t>> times_by_class;
  for (std::uint32_t i = 0; i < classes.size(); ++i)
    times_by_class[classes[i]].push_back(times.contains(i) ? times.at(i) : 0);
  for (auto& [value, each] : times_by_class) {
    EXPECT_EQ(std::accumulate(each.begin(), each.end(), std::uint64_t{0}), 250U) << value;
    const auto [least, most] = std::ranges::minmax(each);
    EXPECT_LE(most - least, 1U) << value;
  }
  // Each round has every class, so small batches are balanced, too.
  for (std::size_t round = 0; round < 250; ++round) {
    std::set<std::int64_t> seen;
    for (std::size_t i = 4 * round; i < 4 * round + 4; ++i) seen.insert(classes[order[i]]);
    EXPECT_EQ(seen.size(), 4U);
  }
}

TEST(BalancedOrder, LeavesRecordsWithoutAValueWhereTheyAre) {
  const std::vector<std::int64_t> classes = {kNoValue, 1, 1, 2, kNoValue, 1};
  const auto order = balanced_order(classes, kSeed);
  EXPECT_EQ(order[0], 0U);
  EXPECT_EQ(order[4], 4U);
  EXPECT_EQ(std::ranges::count(order, 3U), 2) << "every second of the others";
  EXPECT_EQ(balanced_order(std::vector<std::int64_t>(3, kNoValue), kSeed), count_to(3));
  EXPECT_TRUE(balanced_order({}, kSeed).empty());
}

TEST(BucketedOrder, IsAPermutationThatKeepsBatchesAcrossTheWindowsBorders) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 1000; ++i) lengths.push_back(i * i % 97);
  auto order = bucketed_order(lengths, kSeed, 13, 5);  // batches from 15 to 1,010
  for (std::uint32_t i = 0; i < 2; ++i) EXPECT_EQ(order[i], i);
  for (std::uint32_t i = 997; i < 1000; ++i) EXPECT_EQ(order[i], i);
  std::int64_t spread = 0;
  for (std::size_t begin = 2; begin < 997; begin += 5) {
    EXPECT_TRUE(std::is_sorted(order.begin() + static_cast<std::ptrdiff_t>(begin),
                               order.begin() + static_cast<std::ptrdiff_t>(begin + 5)));
    std::vector<std::int64_t> of_batch;
    for (std::size_t i = begin; i < begin + 5; ++i) of_batch.push_back(lengths[order[i]]);
    const auto [least, most] = std::ranges::minmax(of_batch);
    spread += most - least;
  }
  EXPECT_LT(spread, 199 * 5) << "without buckets, about 60 a batch";
  std::ranges::sort(order);
  EXPECT_EQ(order, count_to(1000));
}

TEST(BucketedOrder, ChangesNothingInAWindowWithoutAWholeBatch) {
  const std::vector<std::int64_t> lengths = {5, 1, 4, 2};
  EXPECT_EQ(bucketed_order(lengths, kSeed, 6, 10), count_to(4));
  EXPECT_EQ(bucketed_order(lengths, kSeed, 1, 10), count_to(4));
  EXPECT_EQ(bucketed_order(lengths, kSeed, 0, 5), count_to(4));
}

}  // namespace
}  // namespace headrace

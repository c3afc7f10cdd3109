#include "headrace/train/one_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(OnePassBatches, AreAtEqualDistancesOfTheirLogarithms) {
  const std::set<std::uint64_t> batches = one_pass_batches(1025, 30 * 11);
  EXPECT_THAT(batches, testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024));
}

TEST(OnePassBatches, AreAFewOfTheStepsAndNotTheFirst) {
  EXPECT_EQ(one_pass_batches(100'000, 1'000'000).size(), 64U);
  EXPECT_EQ(one_pass_batches(500, 500).size(), 16U);
  for (const std::uint64_t batches : {2U, 3U, 10U, 65U, 1000U}) {
    const std::set<std::uint64_t> scored = one_pass_batches(batches, 10 * batches);
    EXPECT_LE(scored.size(), batches / 2);
    for (const std::uint64_t number : scored) {
      EXPECT_GT(number, 0U);
      EXPECT_LT(number, batches);
    }
  }
}

TEST(OnePassBatches, AreNoneWhereNothingWasLearntBefore) {
  EXPECT_THAT(one_pass_batches(0, 0), testing::IsEmpty());
  EXPECT_THAT(one_pass_batches(1, 1000), testing::IsEmpty());
  EXPECT_THAT(one_pass_batches(29, 29), testing::IsEmpty());
}

}  // namespace
}  // namespace headrace

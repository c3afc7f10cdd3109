#include "headrace/stream/batch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace headrace::batch_plan_test {
namespace {

using testing::ElementsAre;

using Rows = std::vector<SourcePosition>;

BatchPlan plan_of(const std::vector<BatchPlan::Source>& sources, std::uint64_t batch_size,
                  bool drop_remainder = false, const BatchPlan::Share& share = {}) {
  return {sources, batch_size, drop_remainder, share};
}

TEST(BatchPlan, BatchesOfOneSourceFollowOneAnotherOverEpochs) {
  const BatchPlan plan = plan_of({{.record_count = 5}}, 2);
  EXPECT_EQ(plan.batches_per_epoch(), 3U);
  EXPECT_THAT(plan.rows(1), ElementsAre(SourcePosition{0, 0, 2}, SourcePosition{0, 0, 3}));
  EXPECT_THAT(plan.rows(2), ElementsAre(SourcePosition{0, 0, 4}));
  EXPECT_THAT(plan.rows(3), ElementsAre(SourcePosition{0, 1, 0}, SourcePosition{0, 1, 1}));
  EXPECT_EQ(plan.begin_of(0, 3), 5U);
  EXPECT_EQ(plan.end_of(0, 2), 5U);
}

TEST(BatchPlan, DroppingTheRemainderLeavesNoBatchShort) {
  const BatchPlan plan = plan_of({{.record_count = 5}}, 2, true);
  EXPECT_EQ(plan.batches_per_epoch(), 2U);
  EXPECT_THAT(plan.rows(2), ElementsAre(SourcePosition{0, 1, 0}, SourcePosition{0, 1, 1}));
  EXPECT_EQ(plan_of({{.record_count = 1}}, 2, true).batches_per_epoch(), 0U);
}

TEST(BatchPlan, RanksSplitABatchInOrder) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t rank = 0; rank < 3; ++rank)
    rows.push_back(plan_of({{.record_count = 100}}, 8, false, {rank, 3}).row_count());
  EXPECT_THAT(rows, ElementsAre(2, 3, 3));
  EXPECT_EQ(plan_of({{.record_count = 100}}, 8, false, {1, 3}).rows(1).front(), (SourcePosition{0, 0, 10}));
}

// The expected values are part of the format: docs/formats/order.md.
TEST(BatchPlan, RanksTakeWholeMicroShardsAsPublished) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;
  for (const std::uint64_t micro_shards : {24, 12, 8, 4}) {
    const BatchPlan plan = plan_of({{.record_count = 100}}, 24, false, {1, 3, micro_shards});
    rows.emplace_back(plan.row_first(), plan.row_first() + plan.row_count() - 1);
  }
  EXPECT_THAT(rows, ElementsAre(std::pair(8, 15), std::pair(8, 15), std::pair(6, 14), std::pair(6, 11)));
}

TEST(BatchPlan, AMixturesBatchesAreFullAndItsSourcesBeginAnew) {
  const BatchPlan plan = plan_of({{.record_count = 3, .weight = 1}, {.record_count = 100, .weight = 1}}, 10);
  EXPECT_EQ(plan.batches_per_epoch(), 10U);
  std::uint64_t expected = 0;
  for (std::uint64_t sequence = 0; sequence < 20; ++sequence) {
    const Rows rows = plan.rows(sequence);
    ASSERT_EQ(rows.size(), 10U);
    for (const SourcePosition& row : rows) {
      if (row.source != 0) continue;
      EXPECT_EQ(row.epoch * 3 + row.position, expected++);
    }
  }
  EXPECT_EQ(expected, 100U);
}

TEST(BatchPlan, AMixtureSmallerThanABatchHasOneBatchAnEpoch) {
  const BatchPlan plan = plan_of({{.record_count = 1}, {.record_count = 1}}, 10);
  EXPECT_EQ(plan.batches_per_epoch(), 1U);
}

TEST(BatchPlan, ARankHasWholeMicroShards) {
  const auto part = [](std::uint64_t rank, std::uint64_t world_size, std::uint64_t micro_shards) {
    const BatchPlan plan = plan_of({{.record_count = 100}}, 12, false, {rank, world_size, micro_shards});
    return std::pair(plan.row_first(), plan.row_count());
  };
  EXPECT_EQ(part(0, 1, 0), std::pair(0UL, 12UL));
  EXPECT_EQ(part(1, 5, 0), std::pair(2UL, 2UL));
  EXPECT_EQ(part(4, 5, 0), std::pair(9UL, 3UL));
  EXPECT_EQ(part(0, 2, 3), std::pair(0UL, 4UL));
  EXPECT_EQ(part(1, 2, 3), std::pair(4UL, 8UL));
  EXPECT_EQ(part(1, 3, 6), std::pair(4UL, 4UL));
}

TEST(BatchPlan, TheLastBatchOfAnEpochIsPaddedOrDropped) {
  const BatchPlan padded = plan_of({{.record_count = 5}}, 2),
                  dropped = plan_of({{.record_count = 5}}, 2, true);
  EXPECT_EQ(padded.record(2, 0), (SourcePosition{0, 0, 4}));
  EXPECT_EQ(padded.record(2, 1), std::nullopt);
  EXPECT_EQ(padded.record(5, 0), (SourcePosition{0, 1, 4}));
  EXPECT_EQ(padded.end_of(0, 5), 10U);
  EXPECT_EQ(padded.begin_of(0, 4), 7U);
  EXPECT_EQ(padded.records_per_epoch(), 5U);
  EXPECT_EQ(dropped.batches_per_epoch(), 2U);
  EXPECT_EQ(dropped.record(2, 0), (SourcePosition{0, 1, 0}));
  EXPECT_EQ(dropped.end_of(0, 1), 4U);
  EXPECT_EQ(plan_of({{.record_count = 1}}, 2, true).batches_per_epoch(), 0U);
  const BatchPlan mixture = plan_of({{.record_count = 5}, {.record_count = 6}}, 4);
  EXPECT_EQ(mixture.batches_per_epoch(), 2U);
  EXPECT_EQ(mixture.records_per_epoch(), 11U);
  EXPECT_TRUE(mixture.is_mixture());
  EXPECT_FALSE(padded.is_mixture());
}

struct RandomCase {
  std::vector<BatchPlan::Source> sources;
  std::uint64_t batch_size;
  std::uint64_t world_size;
  std::uint64_t micro_shards;
  bool drop_remainder;
};

RandomCase random_case(std::mt19937_64& random) {
  RandomCase out{.sources = {},
                 .batch_size = 0,
                 .world_size = 0,
                 .micro_shards = 1 + random() % 12,
                 .drop_remainder = random() % 2 == 0};
  out.batch_size = out.micro_shards * (1 + random() % 4);
  out.world_size = 1 + random() % std::min<std::uint64_t>(out.micro_shards, 9);
  const std::size_t count = random() % 2 == 0 ? 1 : 2 + random() % 5;
  for (std::size_t i = 0; i < count; ++i)
    out.sources.push_back({1 + random() % 150, 1 + random() % (1 << 20)});
  return out;
}

// At every world size, the ranks' rows together are the batch. Every position of each source comes once, in
// order, and begin_of and end_of enclose the positions.
TEST(BatchPlan, HoldsForTenThousandRandomCases) {
  std::mt19937_64 random(44);
  for (int round = 0; round < 10'000; ++round) {
    const RandomCase with = random_case(random);
    const BatchPlan whole = plan_of(with.sources, with.batch_size, with.drop_remainder);
    const std::uint64_t batches = std::min<std::uint64_t>(2 * whole.batches_per_epoch(), 12);
    std::vector<std::uint64_t> next(with.sources.size());
    for (std::uint64_t sequence = 0; sequence < batches; ++sequence) {
      Rows joined;
      for (std::uint64_t rank = 0; rank < with.world_size; ++rank) {
        const BatchPlan::Share share{rank, with.world_size, with.micro_shards};
        const BatchPlan of_rank = plan_of(with.sources, with.batch_size, with.drop_remainder, share);
        ASSERT_EQ(of_rank.row_count() % (with.batch_size / with.micro_shards), 0U);
        const Rows part = of_rank.rows(sequence);
        joined.insert(joined.end(), part.begin(), part.end());
      }
      ASSERT_EQ(joined, whole.rows(sequence));
      for (std::size_t s = 0; s < next.size(); ++s) next[s] = std::max(next[s], whole.begin_of(s, sequence));
      for (const SourcePosition& row : joined) {
        const std::uint64_t position = row.epoch * with.sources[row.source].record_count + row.position;
        ASSERT_EQ(position, next[row.source]++);
        ASSERT_LT(position, whole.end_of(row.source, sequence));
      }
    }
  }
}

}  // namespace
}  // namespace headrace::batch_plan_test

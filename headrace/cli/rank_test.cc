#include "headrace/cli/rank.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

Result<Rank> rank_of(std::map<std::string, std::string, std::less<>> variables) {
  return find_rank(Environment{.variables = std::move(variables)});
}

void expect_rank(const Result<Rank>& found, std::uint64_t rank, std::uint64_t world_size) {
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->rank, rank);
  EXPECT_EQ(found->world_size, world_size);
}

TEST(Rank, IsWhatEachSchedulerSays) {
  expect_rank(rank_of({{"RANK", "2"}, {"WORLD_SIZE", "3"}}), 2, 3);
  expect_rank(rank_of({{"JOB_COMPLETION_INDEX", "0"}, {"WORLD_SIZE", "4"}}), 0, 4);
  expect_rank(rank_of({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}}), 5, 8);
  expect_rank(rank_of({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), 1, 2);
}

TEST(Rank, OfAnArrayIsThePlaceInIt) {
  expect_rank(rank_of({{"SLURM_ARRAY_TASK_ID", "7"},
                       {"SLURM_ARRAY_TASK_MIN", "3"},
                       {"SLURM_ARRAY_TASK_STEP", "4"},
                       {"SLURM_ARRAY_TASK_COUNT", "3"},
                       {"SLURM_PROCID", "0"},
                       {"SLURM_NTASKS", "1"}}),
              1, 3);
  const auto hole =
      rank_of({{"SLURM_ARRAY_TASK_ID", "9"}, {"SLURM_ARRAY_TASK_MIN", "1"}, {"SLURM_ARRAY_TASK_COUNT", "3"}});
  ASSERT_FALSE(hole);
  EXPECT_NE(hole.error().message.find("gives rank 8"), std::string::npos) << hole.error().message;
}

TEST(Rank, ThatCannotBeToldSaysWhatIsMissing) {
  const auto none = rank_of({{"WORLD_SIZE", "4"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kFailedPrecondition);
  EXPECT_NE(none.error().message.find("JOB_COMPLETION_INDEX, WORLD_SIZE"), std::string::npos);
  const auto alone = rank_of({{"JOB_COMPLETION_INDEX", "1"}});
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message.find("but not WORLD_SIZE"), std::string::npos) << alone.error().message;
  EXPECT_EQ(rank_of({{"RANK", "x"}, {"WORLD_SIZE", "4"}}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(rank_of({{"RANK", "4"}, {"WORLD_SIZE", "4"}}).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace

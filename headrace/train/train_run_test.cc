#include "headrace/train/train_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace headrace {
namespace {

std::vector<EpochMetrics> history_of(const std::vector<double>& losses) {
  std::vector<EpochMetrics> history;
  for (const double loss : losses)
    history.push_back({.epoch = history.size() + 1, .values = {{"val_loss", loss}}});
  return history;
}

TEST(BestEpoch, IsTheFirstWithTheLowestValidationLoss) {
  EXPECT_EQ(best_epoch(history_of({3, 1, 2, 1})), 2U);
  EXPECT_EQ(best_epoch(history_of({NAN, 5, 4})), 3U);
}

TEST(BestEpoch, IsTheLastWhereThereIsNone) {
  EXPECT_EQ(best_epoch({{.epoch = 1}, {.epoch = 2}}), 2U);
  EXPECT_EQ(best_epoch(history_of({NAN, NAN})), 2U);
}

TEST(Diverged, SaysWhichCheckpointIsLeft) {
  const Error first = diverged("the loss became nan", 1, 3);
  EXPECT_EQ(first.code, Code::kAborted);
  EXPECT_THAT(first.message, testing::HasSubstr("at step 3 in epoch 1; no checkpoint was written yet"));
  EXPECT_THAT(diverged("x", 4, 9).message, testing::HasSubstr("the checkpoint after epoch 3 is kept"));
}

}  // namespace
}  // namespace headrace

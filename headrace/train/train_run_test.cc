#include "headrace/train/train_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headrace/store/registry.h"

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

class ChooseDataVersion : public testing::Test {
 protected:
  ChooseDataVersion() : data(*stores.open("memory://test/data")), run(*stores.open("memory://test/run")) {}

  /// Appends an entry and a manifest, whose digest it returns.
  std::string publish(OwnershipAction action) {
    Ownership owner = *Ownership::take(data, *read_chain(data), {.action = action});
    return owner.publish({.kind = "dataset", .plan = "p"})->digest;
  }
  void begin_run(const std::string& url, const std::string& digest) {
    const Configuration configuration = {{"stage", "train 2"}, {"data", url}, {"data manifest", digest}};
    ASSERT_TRUE(Ownership::take(run, *read_chain(run),
                                {.action = OwnershipAction::kBegin, .configuration = configuration}));
  }
  DataVersion choose(const TrainOptions& options = {}) { return *choose_data_version(data, run, options); }

  StoreRegistry stores{Environment{}};
  Location data;
  Location run;
};

TEST_F(ChooseDataVersion, NewRunsTakeTheLatest) {
  publish(OwnershipAction::kBegin);
  publish(OwnershipAction::kContinue);
  EXPECT_EQ(choose().number, 4U);
  EXPECT_EQ(choose().remark, "");
  EXPECT_EQ(choose({.data_version = 2}).number, 2U);
}

TEST_F(ChooseDataVersion, ARunGoesOnWithItsOwnAndSaysSo) {
  begin_run(data.url.text(), publish(OwnershipAction::kBegin));
  EXPECT_EQ(choose().remark, "");
  publish(OwnershipAction::kContinue);
  EXPECT_EQ(choose().number, 2U);
  EXPECT_THAT(choose().remark, testing::HasSubstr("was begun on version 2 of memory://test/data"));
  EXPECT_THAT(choose().remark, testing::HasSubstr("the latest is version 4"));
  EXPECT_EQ(choose({.overwrite = true}).number, 4U);
  EXPECT_EQ(choose({.data_version = 4}).number, 4U);
}

TEST_F(ChooseDataVersion, ARunWhoseOwnIsGoneOrElsewhereTakesTheLatest) {
  const std::string digest = publish(OwnershipAction::kBegin);
  publish(OwnershipAction::kContinue);
  begin_run("memory://test/other", digest);
  EXPECT_EQ(choose().number, 4U) << "it is refused then, for its data";
  begin_run(data.url.text(), "0123");
  EXPECT_EQ(choose().number, 4U) << "it is refused then, for the data's manifest";
}

TEST_F(ChooseDataVersion, WhereNothingIsPublishedThereIsNone) {
  EXPECT_EQ(choose_data_version(data, run, {}).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace

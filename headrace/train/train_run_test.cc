#include "headrace/train/train_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
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
  const Error first = diverged("the loss became nan", 1, 3, false);
  EXPECT_EQ(first.code, Code::kAborted);
  EXPECT_THAT(first.message, testing::HasSubstr("at step 3 in epoch 1; no checkpoint was written yet"));
  EXPECT_THAT(diverged("x", 4, 9, false).message, testing::HasSubstr("the checkpoint after epoch 3 is kept"));
}

TEST(Diverged, SaysNothingAboutARunThatIsGone) {
  const std::string message = diverged("the loss became nan", 4, 9, true).message;
  EXPECT_EQ(message,
            "the loss became nan at step 9 in epoch 4. Look at the data with headrace inspect, or try a "
            "smaller --learning-rate");
  EXPECT_THAT(with_train_advice({Code::kDataLoss, "x"}, false).message, testing::HasSubstr("another RUN"));
  EXPECT_EQ(with_train_advice({Code::kDataLoss, "x"}, true).message, "x");
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

class TrainRunTest : public testing::Test {
 protected:
  TrainRunTest() : output(*stores.open("memory://test/run")) {
    run.configuration = {{"stage", "train 2"}};
    run.plan = "p";
  }

  class NoEngine final : public Engine {
   public:
    std::string version() const override { return "tensorflow 0.0"; }
    Result<std::unique_ptr<Model>> load(const std::string&, const ModelOptions&) override {
      return Error{Code::kUnimplemented, "not in this test"};
    }
  };

  StoreRegistry stores{Environment{}};
  Location output;
  NoEngine engine;
  const TraceOptions trace{};
  const Environment environment{};
  TrainOptions options{};
  const TrainEnvironment with{engine, trace, environment, ""};
  const Actor actor{.command = "train"};
  const OnStep on_step{};
  const OnEpoch on_epoch{};
  const std::stop_token stop{};
  TrainRun run{output, output, options, with, actor, on_step, on_epoch, stop};
};

class IsExported : public TrainRunTest {
 protected:
  // Takes the run, as the same command does.
  OwnedOutput take() {
    run.seen.chain = *read_chain(output);
    run.seen.is_own = run.seen.chain.entry > 0;
    return *claim_run(run);
  }
  // Publishes the export of an owner, without copies.
  void export_as(OwnedOutput& owned) {
    const std::string key = concat(owned.files_folder(), "/saved_model.pb");
    ASSERT_TRUE(write_text(*output.store, output.at("export/" + key).key, "graph"));
    ASSERT_TRUE(owned.in("export").publish(
        {.kind = "saved_model",
         .plan = "p",
         .parts = {{.key = key, .size_bytes = 5, .crc32c = crc32c(as_bytes("graph")), .role = "model"}}}));
  }
  // The version of the object that other programs read; empty: none.
  std::string served() {
    const auto object = output.store->stat(output.at("export/saved_model.pb").key, {});
    return object ? object->version.token : "";
  }
  bool is_exported_now() {
    run.seen.chain = *read_chain(output);
    TrainResult result;
    const auto is_it = is_exported(run, result);
    EXPECT_TRUE(is_it) << is_it.error().message;
    return is_it && *is_it;
  }
};

TEST_F(IsExported, TheServedModelStaysWhileAFinishedRunIsRepeated) {
  take();  // by an owner that was killed
  OwnedOutput heir = take();
  EXPECT_FALSE(is_exported_now());
  export_as(heir);
  EXPECT_TRUE(is_exported_now());
  const std::string before = served();
  EXPECT_NE(before, "") << "what an interruption may have prevented is made up for";
  EXPECT_TRUE(is_exported_now());
  EXPECT_EQ(served(), before) << "it was removed and copied anew";
}

TEST_F(IsExported, WhatAKilledOwnerLeftThereIsReplaced) {
  take();
  ASSERT_TRUE(write_text(*output.store, output.at("export/saved_model.pb").key, "gra"));
  OwnedOutput heir = take();
  export_as(heir);
  EXPECT_TRUE(is_exported_now());
  EXPECT_EQ(as_text(read_object(*output.store, output.at("export/saved_model.pb").key, 100)->data), "graph");
}

TEST_F(TrainRunTest, ARunKeepsTheThreadsOfItsOperations) {
  EXPECT_EQ(choose_intra_op_threads(run, std::nullopt), 1);
  run.request.features = {{.name = "photo", .type = DataType::kUint8}};
  EXPECT_EQ(choose_intra_op_threads(run, std::nullopt), available_cores());
  const Configuration begun = {{"intra-op-threads", "7"}};
  EXPECT_EQ(choose_intra_op_threads(run, begun), 7) << "also on a machine with other cores";
  options.intra_op_threads = 3;
  EXPECT_EQ(choose_intra_op_threads(run, begun), 3) << "which is refused then";
}

}  // namespace
}  // namespace headrace

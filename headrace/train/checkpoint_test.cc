#include "headrace/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

// Its state is one number.
class OneVariable final : public Model {
 public:
  const std::string& folder() const override { return folder_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const override { return signatures_; }
  Result<std::unique_ptr<Call>> prepare(std::string_view, std::vector<std::string>,
                                        std::vector<std::string>) override {
    return Error{Code::kUnimplemented, "not in this test"};
  }
  Status save_state(const std::string& prefix) override {
    if (refusal) return Error{*refusal, "no room"};
    return std::ofstream(prefix + ".index") << value ? Status{} : Status(Error{Code::kInternal, prefix});
  }
  Status restore_state(const std::string& prefix) override {
    if (refusal) return Error{*refusal, concat("Key b not found in checkpoint ", prefix)};
    return std::ifstream(prefix + ".index") >> value ? Status{} : Status(Error{Code::kInternal, prefix});
  }
  int value = 0;
  std::optional<Code> refusal{};  // of every checkpoint

 private:
  const std::string folder_;
  const std::map<std::string, Signature, std::less<>> signatures_{};
};

class Checkpoints : public testing::Test {
 protected:
  Checkpoints()
      : run(own(*stores.open("memory://test/run"))),
        store(run, (std::filesystem::temp_directory_path() / "headrace-checkpoint-test").string(), "p", "r") {
  }

  static OwnedOutput own(const Location& output) {
    const StageOutput stage{.stage = "train",
                            .former_claim = kConfigurationKey,
                            .folders = {{kCheckpointsFolder, kCheckpointKind}}};
    const Configuration configuration{{"stage", "train 2"}};
    const auto seen = examine_output(output, stage, configuration, false);
    return *OwnedOutput::take(
        output, stage, *seen,
        {.configuration = configuration, .action = OwnedOutput::action_for(*seen, false)});
  }
  // A later process takes the run over.
  void take_over() { run = own(run.output()); }

  void save(std::uint64_t epoch, double accuracy) {
    state.epoch = epoch;
    state.step = epoch * 10;
    state.history.push_back({.epoch = epoch, .step = state.step, .values = {{"accuracy", accuracy}}});
    model.value = static_cast<int>(epoch);
    const Status saved = store.save(model, state);
    ASSERT_TRUE(saved) << saved.error().message;
  }

  StoreRegistry stores{Environment{}};
  OwnedOutput run;
  CheckpointStore store;
  OneVariable model;
  RunState state;
};

TEST_F(Checkpoints, RestoreTheLatestOrThatOfAnEpoch) {
  save(1, 0.5);
  save(2, 0.75);
  model.value = 0;
  take_over();
  const auto latest = store.restore_latest(model);
  ASSERT_TRUE(latest && *latest);
  EXPECT_EQ((*latest)->step, 20U);
  EXPECT_EQ(model.value, 2);
  ASSERT_TRUE(store.restore_epoch(model, 1));
  EXPECT_EQ(model.value, 1);
  EXPECT_EQ(store.restore_epoch(model, 3).error().code, Code::kNotFound);
}

TEST_F(Checkpoints, KeepMetricsThatAreNotFinite) {
  save(1, std::nan(""));
  save(2, -std::numeric_limits<double>::infinity());
  take_over();
  const auto latest = store.restore_latest(model);
  ASSERT_TRUE(latest) << latest.error().message;
  EXPECT_TRUE(std::isnan((*latest)->history.at(0).values.at("accuracy")));
  EXPECT_EQ((*latest)->history.at(1).values.at("accuracy"), -std::numeric_limits<double>::infinity());
}

TEST_F(Checkpoints, ADamagedManifestIsNamed) {
  save(1, 0.5);
  save(2, 0.75);
  const std::string key = "run/checkpoints/_headrace/manifest-00000003";
  ASSERT_TRUE(write_text(*run.output().store, key, "{"));
  const Status restored = store.restore_epoch(model, 1);
  ASSERT_FALSE(restored);
  EXPECT_THAT(restored.error().message, testing::HasSubstr(key));
}

TEST_F(Checkpoints, ThatOfAnotherModelIsNamedAsSuch) {
  save(1, 0.5);
  take_over();
  for (const Code code : {Code::kNotFound, Code::kInvalidArgument}) {
    model.refusal = code;
    const auto restored = store.restore_latest(model);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().code, Code::kInvalidArgument);
    EXPECT_THAT(restored.error().message, testing::HasSubstr("step-00000010 holds the variables of another"));
  }
  model.refusal = Code::kUnavailable;
  const auto failed = store.restore_latest(model);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kUnavailable);
  EXPECT_THAT(failed.error().message,
              testing::HasSubstr("restoring memory://test/run/checkpoints/step-00000010"));
}

TEST_F(Checkpoints, OfAProcessThatLostTheRunNoneIsPublished) {
  save(1, 0.5);
  OwnedOutput heir = own(run.output());
  state.step = 20;
  const Status saved = store.save(model, state);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Code::kAborted);
  const auto published = read_published(run.output().at(kCheckpointsFolder), kCheckpointKind);
  ASSERT_TRUE(published && *published);
  EXPECT_EQ(read_state(**published)->step, 10U);
}

TEST_F(Checkpoints, OfARunWithoutAnyNoneIsRestored) {
  const auto latest = store.restore_latest(model);
  ASSERT_TRUE(latest) << latest.error().message;
  EXPECT_EQ(*latest, std::nullopt);
  EXPECT_THAT(store.restore_epoch(model, 1).error().message,
              testing::HasSubstr("no checkpoint of epoch 1 in memory://test/run/checkpoints"));
}

TEST_F(Checkpoints, HoldTheWholeState) {
  state.loader_state = R"({"position":7})";
  state.finished = true;
  save(1, 0.5);
  save(2, 0.75);
  take_over();
  const auto latest = store.restore_latest(model);
  ASSERT_TRUE(latest && *latest);
  EXPECT_EQ((*latest)->epoch, 2U);
  EXPECT_EQ((*latest)->step, 20U);
  EXPECT_EQ((*latest)->loader_state, R"({"position":7})");
  EXPECT_TRUE((*latest)->finished);
  ASSERT_EQ((*latest)->history.size(), 2U);
  EXPECT_EQ((*latest)->history[1].epoch, 2U);
  EXPECT_EQ((*latest)->history[1].step, 20U);
  EXPECT_EQ((*latest)->history[1].values.at("accuracy"), 0.75);
  state.finished = false;
  save(3, 0.875);
  EXPECT_FALSE(read_state(**read_published(run.output().at(kCheckpointsFolder)))->finished);
}

TEST_F(Checkpoints, ArePublishedInAFolderForEachStepAndOwner) {
  save(1, 0.5);
  const auto published = read_published(run.output().at(kCheckpointsFolder), kCheckpointKind);
  ASSERT_TRUE(published && *published);
  const Manifest& manifest = (*published)->manifest;
  EXPECT_EQ(manifest.created_by, "r");
  EXPECT_EQ(manifest.plan, "p");
  ASSERT_EQ(manifest.parts.size(), 1U);
  EXPECT_EQ(manifest.parts[0].key, "step-00000010/variables.index");
  EXPECT_EQ(manifest.parts[0].role, "variables");
  EXPECT_THAT(manifest.attributes_json, testing::HasSubstr(R"("prefix":"step-00000010/variables")"));
  take_over();
  save(1, 0.5);
  EXPECT_EQ((*read_published(run.output().at(kCheckpointsFolder)))->manifest.parts.at(0).key,
            "step-00000010-o2/variables.index");
}

TEST_F(Checkpoints, OfSeveralOfOneEpochTheLastIsRestored) {
  save(1, 0.5);
  take_over();
  save(1, 0.5);
  model.value = 17;
  state.step = 11;
  ASSERT_TRUE(store.save(model, state));
  model.value = 0;
  ASSERT_TRUE(store.restore_epoch(model, 1));
  EXPECT_EQ(model.value, 17);
}

TEST_F(Checkpoints, AModelThatCannotBeSavedPublishesNothing) {
  model.refusal = Code::kResourceExhausted;
  EXPECT_EQ(store.save(model, state).error().code, Code::kResourceExhausted);
  EXPECT_EQ(*read_published(run.output().at(kCheckpointsFolder)), std::nullopt);
}

TEST_F(Checkpoints, AttributesThatAreNoStateAreDamage) {
  PublishedFolder published{.folder = run.output().at(kCheckpointsFolder)};
  for (const char* attributes :
       {"{}", R"({"epoch":1,"step":2,"state":"","history":[]})", R"({"epoch":"1","step":2,"state":""})"}) {
    published.manifest.attributes_json = attributes;
    const auto read = read_state(published);
    ASSERT_FALSE(read) << attributes;
    EXPECT_EQ(read.error().code, Code::kDataLoss) << attributes;
    EXPECT_THAT(read.error().message,
                testing::HasSubstr("the checkpoint's manifest in memory://test/run/checkpoints is not as"));
  }
}

}  // namespace
}  // namespace headrace

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
    return std::ofstream(prefix + ".index") << value ? Status{} : Status(Error{Code::kInternal, prefix});
  }
  Status restore_state(const std::string& prefix) override {
    if (is_another) return Error{Code::kNotFound, concat("Key b not found in checkpoint ", prefix)};
    return std::ifstream(prefix + ".index") >> value ? Status{} : Status(Error{Code::kInternal, prefix});
  }
  int value = 0;
  bool is_another = false;  // has variables that no checkpoint holds

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
  model.is_another = true;
  take_over();
  const auto restored = store.restore_latest(model);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, Code::kInvalidArgument);
  EXPECT_THAT(restored.error().message, testing::HasSubstr("step-00000010 holds the variables of another"));
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

}  // namespace
}  // namespace headrace

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
      : run(*stores.open("memory://test/run")),
        store(run, (std::filesystem::temp_directory_path() / "headrace-checkpoint-test").string(), "p", "r") {
  }

  void save(std::uint64_t epoch, double accuracy) {
    state.epoch = epoch;
    state.step = epoch * 10;
    state.history.push_back({.epoch = epoch, .step = state.step, .values = {{"accuracy", accuracy}}});
    model.value = static_cast<int>(epoch);
    const Status saved = store.save(model, state);
    ASSERT_TRUE(saved) << saved.error().message;
  }

  StoreRegistry stores{Environment{}};
  Location run;
  CheckpointStore store;
  OneVariable model;
  RunState state;
};

TEST_F(Checkpoints, RestoreTheLatestOrThatOfAnEpoch) {
  save(1, 0.5);
  save(2, 0.75);
  model.value = 0;
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
  const auto latest = store.restore_latest(model);
  ASSERT_TRUE(latest) << latest.error().message;
  EXPECT_TRUE(std::isnan((*latest)->history.at(0).values.at("accuracy")));
  EXPECT_EQ((*latest)->history.at(1).values.at("accuracy"), -std::numeric_limits<double>::infinity());
}

TEST_F(Checkpoints, ADamagedManifestIsNamed) {
  save(1, 0.5);
  save(2, 0.75);
  const std::string key = "run/checkpoints/_headrace/manifest-00000002";
  ASSERT_TRUE(write_text(*run.store, key, "{"));
  const Status restored = store.restore_epoch(model, 1);
  ASSERT_FALSE(restored);
  EXPECT_THAT(restored.error().message, testing::HasSubstr(key));
}

TEST_F(Checkpoints, ThatOfAnotherModelIsNamedAsSuch) {
  save(1, 0.5);
  model.is_another = true;
  const auto restored = store.restore_latest(model);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, Code::kInvalidArgument);
  EXPECT_THAT(restored.error().message, testing::HasSubstr("step-00000010 holds the variables of another"));
}

}  // namespace
}  // namespace headrace

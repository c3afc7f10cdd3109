// The Python process, as far as the command can tell: a shell script that says what it is told to.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/coordinate/configuration.h"
#include "headrace/stream/small_dataset_test.h"
#include "headrace/track/stage_output.h"
#include "headrace/train/train.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr std::string_view kModel = R"(
mkdir $folder/model; echo '{}' > $folder/model/model.json
echo '{"model": {}}'; read answer
)";

class NoEngine final : public Engine {
 public:
  std::string version() const override { return "tensorflow 0.0"; }
  Result<std::unique_ptr<Model>> load(const std::string&, const ModelOptions&) override {
    return Error{Code::kUnimplemented, "not in this test"};
  }
};

class KerasLoop : public LoaderTest {
 protected:
  KerasLoop() {
    folder_ = testing::TempDir() + "/headrace-keras-loop-XXXXXX";
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    publish({100}, 0);
  }
  ~KerasLoop() override { std::filesystem::remove_all(folder_); }

  Result<TrainResult> train_with(const std::string& script) {
    const std::string interpreter = folder_ + "/python";
    std::ofstream(interpreter) << "#!/bin/sh\nfolder=$(dirname $3)\n" << script;
    std::filesystem::permissions(interpreter, std::filesystem::perms::owner_all);
    const TraceOptions trace{.interpreter = interpreter, .package_folder = folder_};
    const Environment environment{.variables = {{"PATH", "/usr/bin:/bin"}}};
    const TrainEnvironment with{engine_, trace, environment, folder_ + "/staged",
                                [this](std::string_view line) { printed.emplace_back(line); }};
    const TrainOptions options{.loop = TrainLoop::kKeras,
                               .features = "x",
                               .labels = "y",
                               .epochs = 2,
                               .validation = validation,
                               .overwrite = overwrite};
    return train(
        location, run, options, with, {.command = "train", .run = "run"},
        [this](const TrainProgress& at) { steps.push_back(at.step); },
        [this](const EpochMetrics& metrics) {
          epochs.push_back(metrics);
          has_events.push_back(has("events/train/events.out.tfevents.headrace"));
        },
        stop.get_token());
  }

  // The request that the process receives; it begins nothing.
  Json request() {
    printed.clear();
    const auto result = train_with("cat $3 >&2; exit 1");
    EXPECT_FALSE(result);
    return printed.empty() ? Json() : parse_json(printed.front()).value_or(Json());
  }

  bool has(std::string_view key) { return store->stat(run.at(key).key, {}).has_value(); }

  const Location run{store, "run", Url{"memory", "test", "run"}};
  bool overwrite = false;
  double validation = 0.1;
  std::stop_source stop;
  std::vector<std::string> printed;
  std::vector<std::uint64_t> steps;
  std::vector<EpochMetrics> epochs;
  std::vector<bool> has_events;

 private:
  std::string folder_;
  NoEngine engine_;
};

TEST_F(KerasLoop, FollowsStepsAndEpochs) {
  const auto result = train_with(concat(kModel, R"(
    echo warming up >&2
    echo '{"step": {"epoch": 1, "step": 3, "total_steps": 9, "loss": 0.5}}'
    echo '{"epoch": {"epoch": 1, "step": 4, "loss": 0.25, "val_loss": "Infinity"}}'
    read answer
    echo '{"saved": {}}'
    echo "answered: $answer" >&2
  )"));
  ASSERT_FALSE(result) << "the script does not finish the training";
  EXPECT_EQ(steps, std::vector<std::uint64_t>{3});
  ASSERT_EQ(epochs.size(), 1U);
  EXPECT_EQ(epochs[0].values.at("loss"), 0.25);
  EXPECT_TRUE(std::isinf(epochs[0].values.at("val_loss")));
  EXPECT_EQ(has_events, std::vector<bool>{true}) << "they are there before the checkpoint is";
  EXPECT_TRUE(has("events/validation/events.out.tfevents.headrace"));
  EXPECT_TRUE(has("model/_headrace/manifest-00000002"));
  EXPECT_TRUE(has("_headrace/manifest-00000001"));
  EXPECT_THAT(printed, testing::ElementsAre("warming up", "answered: go on"));
}

TEST_F(KerasLoop, BeginsNothingForAModelThatCannotBeUsed) {
  const auto result = train_with(R"(echo '{"error": {"kind": "compile", "message": "compile it"}}'; exit 1)");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  EXPECT_THAT(result.error().message, HasSubstr("compile it"));
  EXPECT_TRUE(list_all(*store, "run/")->empty());
}

TEST_F(KerasLoop, HandsOnTheErrorsOfTheLoader) {
  const auto result =
      train_with(concat(kModel, R"(echo '{"error": {"code": "DATA_LOSS", "message": "broken"}}'; exit 1)"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kDataLoss);
  EXPECT_THAT(result.error().message, HasSubstr("broken (that is another configuration: use --overwrite"));
}

TEST_F(KerasLoop, SaysWhatDiverged) {
  const auto result = train_with(
      concat(kModel, R"(echo '{"diverged": {"what": "the loss became nan", "epoch": 3, "step": 7}}')"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kAborted);
  EXPECT_THAT(result.error().message,
              HasSubstr("at step 7 in epoch 3; the checkpoint after epoch 2 is kept"));
}

TEST_F(KerasLoop, SaysHowTheProcessDied) {
  const auto killed = train_with(concat(kModel, "echo last words >&2; kill -KILL $$"));
  ASSERT_FALSE(killed);
  EXPECT_EQ(killed.error().code, Code::kUnknown);
  EXPECT_THAT(killed.error().message, HasSubstr("by signal 9 (Killed)"));
  EXPECT_THAT(killed.error().message, HasSubstr("the same command continues"));
  EXPECT_THAT(killed.error().message, HasSubstr("last words"));
  const auto ended = train_with("exit 5");
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("with status 5"));
}

TEST_F(KerasLoop, RefusesWhatItDoesNotUnderstand) {
  for (const char* line :
       {"hello", "[]", "{}", R"({"x": 1})", R"({"step": 1})", R"({"epoch": {"epoch": "1"}})",
        R"({"done": {"history": [], "exported_epoch": 1}})"}) {
    const auto result = train_with(concat("echo '", line, "'; exec sleep 1000"));
    ASSERT_FALSE(result) << line;
    EXPECT_EQ(result.error().code, Code::kInternal) << line;
    EXPECT_THAT(result.error().message, HasSubstr("cannot be understood"));
  }
}

TEST_F(KerasLoop, ARunThatVersion1OfTheOrderBeganContinuesByVersion1) {
  publish({60, 40}, 0, false, "data", 0, {{0, {60}}, {950, {40}}});
  EXPECT_EQ(request()["order"], kOrderVersion);
  EXPECT_EQ(request()["train_records"], 60) << "the last tenth of the hash is held out";
  EXPECT_FALSE(train_with(std::string(kModel))) << "it has begun, and did not finish";
  Configuration begun = read_chain(run)->owner.configuration;
  EXPECT_EQ(begun.at("stage"), "train 2");
  begun.at("stage") = "train 1";
  const auto objects = list_all(*store, "run/");
  for (const ObjectInfo& object : *objects) ASSERT_TRUE(remove_object(*store, object.key));
  ASSERT_TRUE(write_text(*store, run.at(kConfigurationKey).key, Json(begun).dump()));
  EXPECT_EQ(request()["order"], 1);
  EXPECT_EQ(request()["train_records"], 90) << "the last tenth of the records is held out";
  overwrite = true;
  EXPECT_EQ(request()["order"], kOrderVersion) << "it begins again";
}

TEST_F(KerasLoop, BeginsNothingIfNoRecordIsHeldOut) {
  publish({100}, 0, false, "data", 0, {{0, {100}}});
  const auto result = train_with(std::string(kModel));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  EXPECT_THAT(result.error().message, HasSubstr("none of the 100 records of memory://test/data"));
  EXPECT_TRUE(list_all(*store, "run/")->empty());
  validation = 0;
  EXPECT_EQ(request()["train_records"], 100);
}

TEST_F(KerasLoop, EndsWhenItIsStopped) {
  stop.request_stop();
  const auto result = train_with(concat(kModel, "exec sleep 1000"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace headrace

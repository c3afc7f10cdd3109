#include "headrace/evaluate/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/evaluate/tiny_run_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class Evaluate : public TinyRun {
 protected:
  Evaluate() { publish_export("run/export"); }

  Result<Evaluation> run(const EvaluateOptions& options = {}) {
    const ExportedModel model = open_model();
    return evaluate(model, at("data"), options, [](std::uint64_t, std::uint64_t) {}, {});
  }
  std::string error_of(const EvaluateOptions& options = {}) {
    const auto result = run(options);
    EXPECT_FALSE(result);
    return result ? "" : result.error().message;
  }
};

TEST_F(Evaluate, CountsAnswersAndWeighsLossesByRecords) {
  // Batches of 2, 2 and 1: their losses are 2, 3 and 10.
  publish_data({{tiny_record(0, 0, 1), tiny_record(0, 1, 3), tiny_record(1, 1, 3)},
                {tiny_record(1, 1, 3), tiny_record(1, 0, 10)}},
               attributes());
  const auto result = run({.batch_size = 2});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->targets.size(), 1);
  const ConfusionMatrix& confusion = result->targets[0].confusion.front();
  EXPECT_EQ(confusion.count(0, 0), 1);
  EXPECT_EQ(confusion.count(0, 1), 1);
  EXPECT_EQ(confusion.count(1, 0), 1);
  EXPECT_EQ(confusion.count(1, 1), 2);
  EXPECT_DOUBLE_EQ(result->metrics.at("loss"), (1 + 3 + 3 + 3 + 10) / 5.0);
  EXPECT_DOUBLE_EQ(result->metrics.at("accuracy"), 0.6);
  EXPECT_DOUBLE_EQ(result->targets[0].accuracy(), 0.6);
}

TEST_F(Evaluate, NamesTheRecordsFarthestFromTheTruth) {
  publish_data({{tiny_record(0, 0, 1), tiny_record(0, 1, 3)}, {tiny_record(1, 1, 3), tiny_record(1, 0, 10)}},
               attributes());
  const auto result = run({.batch_size = 2});
  ASSERT_TRUE(result) << result.error().message;
  const TargetEvaluation& target = result->targets[0];
  ASSERT_EQ(target.worst.records().size(), 2) << "the others are right";
  const WorstRecord& worst = target.worst.records()[0];
  EXPECT_EQ(worst.object, "memory://test/data/test-00000");
  EXPECT_EQ(worst.record, 1);
  EXPECT_DOUBLE_EQ(worst.error, 0.5);
  EXPECT_EQ(target.worst.records()[1].object, "memory://test/data/test-00001");
  EXPECT_NE(describe_truth(target, worst), describe_answer(target, worst));
  const Json document = *parse_json(evaluation_to_json(*result, "r"));
  const Json& first = document["targets"].values()[0]["worst"].values()[0];
  EXPECT_EQ(first["record"], 1);
  EXPECT_EQ(first["truth"].text(), describe_truth(target, worst));
}

TEST(WorstRecords, AreTheTenWithTheLargestErrorsAndTheFirstOfEqualOnes) {
  WorstRecords worst;
  EXPECT_FALSE(worst.would_keep(0)) << "it is right";
  for (std::uint64_t i = 0; i < 30; ++i) {
    const double error = i % 3 == 0 ? 2 : 1 + 0.01 * static_cast<double>(i);
    if (worst.would_keep(error)) worst.add({.record = i, .error = error});
  }
  std::vector<std::uint64_t> kept;
  for (const WorstRecord& record : worst.records()) kept.push_back(record.record);
  EXPECT_EQ(kept, (std::vector<std::uint64_t>{0, 3, 6, 9, 12, 15, 18, 21, 24, 27}));
}

TEST_F(Evaluate, DoesNotDependOnTheBatchSize) {
  std::vector<TinyRecord> records;
  for (int i = 0; i < 100; ++i) records.push_back(tiny_record(i % 2, i % 3 == 0 ? 1 : 0, 1));
  publish_data({records}, attributes());
  const auto small = run({.batch_size = 7}), large = run({.batch_size = 1000});
  ASSERT_TRUE(small && large);
  EXPECT_EQ(evaluation_to_json(*small, "r"), evaluation_to_json(*large, "r"));
}

TEST(EvaluationToJson, NamesNumbersThatJsonLacks) {
  Evaluation evaluation;
  evaluation.metrics = {{"loss", std::numeric_limits<double>::infinity()}, {"mean", std::nan("")}};
  const Json document = *parse_json(evaluation_to_json(evaluation, "r"));
  EXPECT_EQ(document["loss"], "Infinity");
  EXPECT_EQ(document["metrics"]["mean"], "NaN");
}

TEST_F(Evaluate, LeavesCorruptRecordsOutWhenAsked) {
  publish_data({{tiny_record(0, 0), tiny_record(1, 1)}, {tiny_record(0, 1)}}, attributes());
  auto shard = read_object(*store, "data/test-00000", 1 << 20);
  ASSERT_TRUE(shard);
  shard->data[shard->data.size() / 2] ^= std::byte{1};
  ASSERT_TRUE(store->write("data/test-00000", shard->data, {}));
  EXPECT_THAT(error_of(), HasSubstr("memory://test/data/test-00000"));
  const auto result = run({.on_corrupt = CorruptionPolicy::kSkipRecord});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->corrupt_records, 2);
  EXPECT_EQ(result->targets[0].confusion.front().records(), 1);
  EXPECT_EQ(result->targets[0].confusion.front().count(0, 1), 1);
  EXPECT_EQ(result->remarks.size(), 1) << "the same remark for both records";
}

TEST_F(Evaluate, FailsWhereNoRecordIsLeft) {
  publish_data({{tiny_record(0, 0)}}, attributes());
  ASSERT_TRUE(remove_object(*store, "data/test-00000"));
  EXPECT_THAT(error_of({.on_corrupt = CorruptionPolicy::kSkipShard}), HasSubstr("no record of split test"));
}

TEST_F(Evaluate, NamesTheRecordWhoseLabelIsNoClass) {
  TinyRecord odd = tiny_record(0, 0);
  odd.label = {1, 1};
  publish_data({{tiny_record(0, 0)}, {tiny_record(0, 0), odd}}, attributes());
  EXPECT_THAT(error_of(),
              HasSubstr("y int64[2] of record 1 of memory://test/data/test-00001 is not one of 2 classes"));
}

TEST_F(Evaluate, RefusesALabelBeyondTheClasses) {
  DatasetAttributes wide = attributes();
  wide.features["y"].shape = {3};
  TinyRecord beyond = tiny_record(0, 0);
  beyond.label = {0, 0, 1};
  publish_data({{beyond}}, wide);
  ExportedModel model = open_model();
  model.contract.binding.targets[0].label.shape = {3};
  const auto result = evaluate(model, at("data"), {}, [](std::uint64_t, std::uint64_t) {}, {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("is not one of 2 classes"));
}

TEST_F(Evaluate, RefusesPredictionsThatAreNotFinite) {
  TinyRecord odd = tiny_record(0, 0);
  odd.features[1] = std::numeric_limits<float>::quiet_NaN();
  publish_data({{odd}}, attributes());
  EXPECT_THAT(error_of(), HasSubstr("holds a value that is not finite"));
}

TEST_F(Evaluate, RefusesDataOfAnotherShapeEncoderOrClasses) {
  DatasetAttributes wide = attributes();
  wide.features["x"].shape = {5};
  publish_data({{tiny_record(0, 0)}}, wide);
  EXPECT_THAT(error_of(), HasSubstr("takes x float32[3], but memory://test/data has x float32[5]"));

  DatasetAttributes other_encoder = attributes();
  other_encoder.encoders["x"].weights_digest = "v";
  publish_data({{tiny_record(0, 0)}}, other_encoder);
  EXPECT_THAT(error_of(), HasSubstr("hash:3 (weights w) in x, but memory://test/data was prepared with "
                                    "hash:3 (weights v)"));

  DatasetAttributes swapped = attributes();
  swapped.vocabularies["y"] = {"neg", "pos"};
  publish_data({{tiny_record(0, 0)}}, swapped);
  EXPECT_THAT(error_of(),
              HasSubstr("the classes pos, neg of y, but those of memory://test/data are neg, pos"));
}

TEST_F(Evaluate, IsStoppedByItsToken) {
  publish_data({{tiny_record(0, 0)}}, attributes());
  const ExportedModel model = open_model();
  std::stop_source stop;
  stop.request_stop();
  const auto result = evaluate(
      model, at("data"), {}, [](std::uint64_t, std::uint64_t) {}, stop.get_token());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCancelled);
}

class OpenExportedModel : public TinyRun {
 protected:
  Error error_of(const std::string& run) {
    auto model = open_exported_model(at(run), engine, temporary_folder);
    EXPECT_FALSE(model);
    return model ? Error{} : model.error();
  }
};

TEST_F(OpenExportedModel, TakesARunOrAVersionOfANamedModel) {
  publish_export("run/export");
  publish_export("models/imdb/3");
  EXPECT_EQ(open_model("run").folder.url.text(), "memory://test/run/export");
  EXPECT_EQ(open_model("models/imdb/3").folder.url.text(), "memory://test/models/imdb/3");
  EXPECT_EQ(open_model("run").contract.vocabularies.at("y"), (std::vector<std::string>{"pos", "neg"}));
}

TEST_F(OpenExportedModel, TellsARunThatIsNotFinishedFromNone) {
  EXPECT_EQ(error_of("run").code, Code::kNotFound);
  ASSERT_TRUE(write_text(*store, "run/_headrace/configuration", "{}"));
  EXPECT_EQ(error_of("run").code, Code::kFailedPrecondition);
  EXPECT_THAT(error_of("run").message, HasSubstr("its training has not finished"));
}

TEST_F(OpenExportedModel, RefusesADataSetAndAnAlteredFile) {
  publish_data({{tiny_record(0, 0)}}, attributes());
  EXPECT_THAT(error_of("data").message, HasSubstr("is a dataset folder, not a "));
  publish_export("run/export");
  ASSERT_TRUE(write_text(*store, "run/export/saved_model.pb", "A graph"));
  EXPECT_EQ(error_of("run").code, Code::kDataLoss);
}

TEST_F(OpenExportedModel, RefusesAManifestWithoutWhatItNeeds) {
  publish("run/export", {.kind = "saved_model", .created_by = "r", .plan = "p", .attributes_json = "{}"});
  EXPECT_EQ(error_of("run").code, Code::kDataLoss);
}

}  // namespace
}  // namespace headrace

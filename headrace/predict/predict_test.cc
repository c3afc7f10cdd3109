#include "headrace/predict/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/engine/hash/hash_encoder.h"
#include "headrace/evaluate/predictor.h"
#include "headrace/evaluate/tiny_run_test.h"
#include "headrace/predict/dataset_input.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Predict : public TinyRun {
 protected:
  Predict() { publish_export("run/export"); }

  Result<PredictResult> run(const PredictOptions& options = {}, const std::string& to = "to",
                            const DatasetInputOptions& input_options = {}) {
    const ExportedModel model = open_model();
    HEADRACE_TRY(const auto input, open_dataset_input(model, at("data"), input_options, {}));
    return predict(model, *input, at(to), options, {.command = "predict", .run = "id"},
                   [](std::uint64_t, std::uint64_t) {}, {});
  }
  std::string lines(const std::string& key) {
    const auto object = read_object(*store, key, 1 << 20);
    EXPECT_TRUE(object) << object.error().message;
    Bytes out;
    EXPECT_TRUE(BufferInflater().all(object->data, Compression::kGzip, out, 1 << 20));
    return to_string(out);
  }
  std::map<std::string, std::string> objects(const std::string& below) {
    std::map<std::string, std::string> out;
    const auto found = list_all(*store, below);
    for (const ObjectInfo& object : *found)
      out[object.key.substr(below.size())] = to_string(read_object(*store, object.key, 1 << 20)->data);
    return out;
  }
};

TEST_F(Predict, WritesALineForEachRecordInTheirOrder) {
  publish_data({{tiny_record(0, 0), tiny_record(0, 1)}, {tiny_record(1, 1)}}, attributes());
  const auto result = run();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->records, 3);
  EXPECT_EQ(lines("to/predictions-00000-of-00002.jsonl.gz"),
            "{\"id\":\"a0\",\"label\":\"pos\",\"probabilities\":{\"pos\":0.75,\"neg\":0.25}}\n"
            "{\"id\":\"a1\",\"label\":\"neg\",\"probabilities\":{\"pos\":0.25,\"neg\":0.75}}\n");
  EXPECT_EQ(lines("to/predictions-00001-of-00002.jsonl.gz"),
            "{\"id\":\"a2\",\"label\":\"neg\",\"probabilities\":{\"pos\":0.25,\"neg\":0.75}}\n");
}

TEST_F(Predict, ConvertsATableOfEachShardToParquet) {
  publish_data({{tiny_record(0, 0), tiny_record(0, 1)}, {tiny_record(1, 1)}}, attributes());
  const auto convert = [](const std::string& csv, const std::string& parquet) -> Status {
    std::ofstream(parquet) << "converted " << std::ifstream(csv).rdbuf();
    return {};
  };
  const PredictOptions options{.format = PredictionFormat::kParquet,
                               .to_parquet = convert,
                               .temporary_folder = testing::TempDir() + "headrace-predict-test"};
  const auto result = run(options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->records, 3);
  const auto made = objects("to/predictions-");
  EXPECT_EQ(made.at("00000-of-00002.parquet"),
            "converted id,label,probability:pos,probability:neg\na0,pos,0.75,0.25\na1,neg,0.25,0.75\n");
  EXPECT_EQ(made.at("00001-of-00002.parquet"),
            "converted id,label,probability:pos,probability:neg\na2,neg,0.25,0.75\n");
  const auto published = read_published(at("to"), "predictions");
  ASSERT_TRUE(published && *published);
  const ManifestPart& part = (*published)->manifest.parts[1];
  EXPECT_EQ(part.crc32c, crc32c(as_bytes(made.at("00001-of-00002.parquet"))));
  EXPECT_EQ(part.records, 1);
}

TEST_F(Predict, AConversionThatFailsPublishesNothing) {
  publish_data({{tiny_record(0, 0)}}, attributes());
  const auto refuse = [](const std::string&, const std::string&) -> Status {
    return Error{Code::kFailedPrecondition, "no pyarrow"};
  };
  const auto result = run({.format = PredictionFormat::kParquet,
                           .to_parquet = refuse,
                           .temporary_folder = testing::TempDir() + "headrace-predict-test"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("no pyarrow"));
  EXPECT_TRUE(objects("to/predictions-").empty());
}

TEST_F(Predict, PublishesWhatItWrote) {
  publish_data({{tiny_record(0, 0), tiny_record(0, 1)}, {tiny_record(1, 1)}}, attributes());
  ASSERT_TRUE(run());
  const auto published = read_published(at("to"), "predictions");
  ASSERT_TRUE(published && *published);
  const std::vector<ManifestPart>& parts = (*published)->manifest.parts;
  ASSERT_EQ(parts.size(), 2);
  for (const ManifestPart& part : parts) {
    const auto object = read_object(*store, "to/" + part.key, 1 << 20);
    ASSERT_TRUE(object);
    EXPECT_EQ(part.size_bytes, object->data.size());
    EXPECT_EQ(part.crc32c, crc32c(object->data));
  }
  EXPECT_EQ(parts[0].records, 2);
  const Json attributes_then = *parse_json((*published)->manifest.attributes_json);
  EXPECT_EQ(attributes_then["records"], 3);
  const Json& target = attributes_then["targets"].values()[0];
  EXPECT_EQ(target["kind"], "classes");
  EXPECT_EQ(target["classes"].values()[1], "neg");
}

TEST_F(Predict, GivesTheSameBytesOnAnyNumberOfWorkersAndAfterAnInterruption) {
  std::vector<std::vector<TinyRecord>> shards(5);
  for (int i = 0; i < 50; ++i) shards[i / 10].push_back(tiny_record(0, i % 3 == 0 ? 1 : 0));
  publish_data(shards, attributes());
  ASSERT_TRUE(run({.batch_size = 4, .workers = 1}, "one"));
  ASSERT_TRUE(run({.batch_size = 4, .workers = 3}, "three"));
  EXPECT_EQ(objects("one"), objects("three"));

  ASSERT_TRUE(remove_object(*store, "one/_headrace/manifest-00000002"));
  ASSERT_TRUE(remove_object(*store, "one/predictions-00004-of-00005.jsonl.gz"));
  ASSERT_TRUE(write_text(*store, "one/predictions-00003-of-00005.jsonl.gz", "half"));
  ASSERT_TRUE(run({.batch_size = 4}, "one"));
  EXPECT_EQ(objects("one/predictions-").size(), 5U) << "what the process before has left is gone";
  for (int i = 0; i < 5; ++i) {
    const std::string name = concat("predictions-0000", i, "-of-00005");
    EXPECT_EQ(lines(concat("one/", name, "-o2.jsonl.gz")), lines(concat("three/", name, ".jsonl.gz")));
  }
}

TEST_F(Predict, DoesNothingWhereItWasDoneAndRefusesAnotherConfiguration) {
  publish_data({{tiny_record(0, 0)}}, attributes());
  ASSERT_TRUE(run());
  const auto again = run();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->was_published);
  EXPECT_EQ(again->records, 1);

  publish_data({{tiny_record(0, 1)}, {tiny_record(0, 1)}}, attributes());
  const auto other = run();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(other.error().message, HasSubstr("data manifest"));
  const auto anew = run({.overwrite = true});
  ASSERT_TRUE(anew) << anew.error().message;
  EXPECT_FALSE(anew->was_published);
  EXPECT_EQ(objects("to/predictions-").size(), 2);
}

TEST_F(Predict, NeverTouchesAFolderThatHoldsSomethingElse) {
  publish_data({{tiny_record(0, 0)}}, attributes());
  const auto before = objects("");
  const auto result = run({.overwrite = true}, "data");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("is a dataset folder, not a predictions folder"));
  EXPECT_EQ(objects(""), before);
}

TEST_F(Predict, OverwritesADamagedManifestAndNothingElse) {
  publish_data({{tiny_record(0, 0)}}, attributes());
  ASSERT_TRUE(run());
  ASSERT_TRUE(write_text(*store, "to/_headrace/manifest-00000002", "{"));
  ASSERT_TRUE(write_text(*store, "to/predictions-mine.txt", "mine"));
  ASSERT_FALSE(run());
  const auto result = run({.overwrite = true});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(objects("to/predictions-mine.txt").size(), 1U);
  EXPECT_EQ(objects("to/predictions-0").size(), 1U);
  EXPECT_EQ(objects("to/_headrace/").size(), 2U) << "an entry and a manifest";
}

TEST_F(Predict, NeverOverwritesWhatAnotherStageBegan) {
  publish_data({{tiny_record(0, 0)}}, attributes());
  ASSERT_TRUE(write_text(*store, "to/_headrace/configuration", R"({"stage": "train 1"})"));
  const auto before = objects("to/");
  const auto result = run({.overwrite = true});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(objects("to/"), before);
}

TEST_F(Predict, LeavesOutALostShardWhenAsked) {
  publish_data({{tiny_record(0, 0)}, {tiny_record(0, 1)}}, attributes());
  ASSERT_TRUE(remove_object(*store, "data/test-00000"));
  ASSERT_FALSE(run());
  EXPECT_TRUE(objects("to/predictions-").empty());
  const auto result = run({}, "to", {.on_corrupt = CorruptionPolicy::kSkipShard});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->left_out, 1);
  EXPECT_EQ(lines("to/predictions-00000-of-00002.jsonl.gz"), "");
  EXPECT_THAT(lines("to/predictions-00001-of-00002.jsonl.gz"), HasSubstr("a1"));
}

TEST_F(Predict, SaysWhatToDoAboutACorruptRecord) {
  publish_data({{tiny_record(0, 0)}}, attributes());
  Bytes shard = read_object(*store, "data/test-00000", 1 << 20)->data;
  shard.back() ^= std::byte{1};
  ASSERT_TRUE(store->write("data/test-00000", shard, {}));
  const auto failed = run();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kDataLoss);
  EXPECT_THAT(failed.error().message, HasSubstr("--on-corrupt skip-record"));
}

TEST_F(Predict, LeavesOutABadRecordAndNoOther) {
  publish_data({{tiny_record(0, 0), {{0.5F}, {1, 0}}, tiny_record(1, 0)}}, attributes());
  const auto result = run({.batch_size = 2}, "to", {.on_corrupt = CorruptionPolicy::kSkipRecord});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->records, 2);
  EXPECT_EQ(result->left_out, 1);
  EXPECT_THAT(result->remarks, ElementsAre(HasSubstr("record 1, at byte")));
  EXPECT_EQ(lines("to/predictions-00000-of-00001.jsonl.gz"),
            "{\"id\":\"a0\",\"label\":\"pos\",\"probabilities\":{\"pos\":0.75,\"neg\":0.25}}\n"
            "{\"id\":\"a2\",\"label\":\"pos\",\"probabilities\":{\"pos\":0.75,\"neg\":0.25}}\n");
}

TEST_F(Predict, CountsForeignRecordsInPlaceOfIds) {
  publish_data({{tiny_record(0, 1)}}, attributes());
  ASSERT_TRUE(remove_object(*store, "data/_headrace/manifest-00000001"));
  ASSERT_TRUE(remove_object(*store, "data/test-00000.index"));
  const auto result = run();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(lines("to/predictions-00000-of-00001.jsonl.gz"),
            "{\"row\":1,\"label\":\"neg\",\"probabilities\":{\"pos\":0.25,\"neg\":0.75}}\n");
}

TEST_F(Predict, RecordsWithoutIdsHaveTheirNumbersAndShards) {
  DatasetAttributes without = attributes();
  without.features.erase("id");
  publish_data({{tiny_record(0, 0), {{0.5F}, {1, 0}}, tiny_record(0, 1)}, {tiny_record(1, 1)}}, without);
  const auto result = run({.batch_size = 2, .format = PredictionFormat::kCsv}, "to",
                          {.on_corrupt = CorruptionPolicy::kSkipRecord});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(lines("to/predictions-00000-of-00002.csv.gz"),
            "source,row,label,probability:pos,probability:neg\n"
            "memory://test/data/test-00000,1,pos,0.75,0.25\n"
            "memory://test/data/test-00000,3,neg,0.25,0.75\n")
      << "a record that is left out counts";
  EXPECT_EQ(lines("to/predictions-00001-of-00002.csv.gz"),
            "source,row,label,probability:pos,probability:neg\n"
            "memory://test/data/test-00001,1,neg,0.25,0.75\n");
}

TEST_F(Predict, TheFirstRecordOfForeignDataShowsWhetherTheyFit) {
  const DatasetInputOptions with{.checks_first = true};
  const DatasetInputOptions skipping{.on_corrupt = CorruptionPolicy::kSkipRecord, .checks_first = true};
  publish_data({{tiny_record(0, 1), {{0.5F}, {1, 0}}}}, attributes());
  ASSERT_TRUE(remove_object(*store, "data/_headrace/manifest-00000001"));
  const ExportedModel model = open_model();
  EXPECT_TRUE(open_dataset_input(model, at("data/test-00000"), with, {}));
  publish_data({{{{0.5F}, {1, 0}}, tiny_record(0, 1)}}, attributes());
  const auto other = open_dataset_input(model, at("data/test-00000"), with, {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalidArgument);
  EXPECT_THAT(other.error().message, HasSubstr("expected float32[3], found float32[1]"));
  EXPECT_TRUE(open_dataset_input(model, at("data/test-00000"), skipping, {})) << "one of the first ones fits";
  publish_data({{{{0.5F}, {1, 0}}, {{0.5F}, {1, 0}}}}, attributes());
  EXPECT_FALSE(open_dataset_input(model, at("data/test-00000"), skipping, {}));
}

TEST_F(Predict, GivesEachTextTheScoresOfItsOwnVector) {
  const auto encoder = make_hash_encoder(kTinyWidth);
  ASSERT_TRUE(encoder);
  std::vector<std::string> texts;
  for (int i = 0; i < 20; ++i) texts.push_back(concat("text number ", i));
  const ExportedModel model = open_model();
  const auto answers = predict_texts(model, **encoder, texts, 3);
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->rows(), texts.size());
  const AnswerFormat format(model.contract);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<float> vector(kTinyWidth);
    const std::string_view text = texts[i];
    ASSERT_TRUE((*encoder)->encode({&text, 1}, vector));
    const std::span<const float> scores = std::span<const float>(vector).first(kTinyClasses);
    EXPECT_EQ(answers->to_json(i, ""), format.to_json("", {&scores, 1}));
  }
}

TEST_F(Predict, RefusesAnEncoderWithOtherWeights) {
  const auto encoder = make_hash_encoder(kTinyWidth);
  const Status checked = check_encoder(*text_encoder_of(open_model()), **encoder);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("hash:3 (weights w)"));
  EXPECT_THAT(checked.error().message, HasSubstr((*encoder)->weights_digest().substr(0, 16)));
}

}  // namespace
}  // namespace headrace

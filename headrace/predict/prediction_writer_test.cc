#include "headrace/predict/prediction_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/record/example.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

using testing::ElementsAre;

// A model with an output of each kind, and answers to one row.
class Written : public testing::Test {
 protected:
  Written() {
    add("kind", TargetKind::kClasses, {0.25F, 0.75F}, {"a,b", "c"});
    add("yes", TargetKind::kBinary, {0.75F}, {"no", "yes"});
    add("tags", TargetKind::kMultiLabel, {0.75F, 0.25F, 1}, {"x", "y", "z"});
    add("size", TargetKind::kRegression, {1.5F, 2}, {});
  }

  Answers answers() const {
    std::vector<Tensor> outputs;
    for (const std::vector<float>& values : values_) {
      auto owner = std::make_shared<const std::vector<float>>(values);
      outputs.emplace_back(DataType::kFloat32, Shape{1, static_cast<std::int64_t>(values.size())},
                           owner->data(), owner);
    }
    return {std::make_shared<const AnswerFormat>(contract_), std::move(outputs), 1};
  }
  Bytes written(PredictionFormat format, const RowName& name,
                std::vector<std::string> names = {"id", "row"}) {
    PredictionWriter writer(format, std::move(names));
    Bytes out;
    writer.begin(answers().format(), out);
    writer.add(name, answers(), 0, out);
    return out;
  }

 private:
  void add(const std::string& name, TargetKind kind, std::vector<float> values,
           std::vector<std::string> classes) {
    contract_.binding.outputs.push_back({name, name, {static_cast<std::int64_t>(values.size())}});
    contract_.binding.targets.push_back(
        {.tensor = "labels", .output = name, .label = {.name = "of " + name}, .kind = kind});
    contract_.vocabularies["of " + name] = std::move(classes);
    values_.push_back(std::move(values));
  }

  ModelContract contract_{.binding = {}, .metrics = {"examples"}};
  std::vector<std::vector<float>> values_;
};

TEST_F(Written, ATableHasAColumnForEachValueAndQuotesWhereTheyAreNeeded) {
  EXPECT_EQ(
      as_text(written(PredictionFormat::kCsv, {.id = "say \"a\"", .row = 7})),
      "id,row,kind/label,\"kind/probability:a,b\",kind/probability:c,yes/label,yes/probability,tags/labels,"
      "tags/probability:x,tags/probability:y,tags/probability:z,size/value\n"
      "\"say \"\"a\"\"\",7,c,0.25,0.75,yes,0.75,\"[\"\"x\"\",\"\"z\"\"]\",0.75,0.25,1.0,\"[1.5,2.0]\"\n");
}

TEST_F(Written, JsonHasALineForEachAnswer) {
  EXPECT_EQ(as_text(written(PredictionFormat::kJsonLines, {.source = "u", .row = 7})),
            R"({"source":"u","row":7,"outputs":{"kind":{"label":"c","probabilities":{"a,b":0.25,"c":0.75}},)"
            R"("yes":{"label":"yes","probability":0.75},)"
            R"("tags":{"labels":["x","z"],"probabilities":{"x":0.75,"y":0.25,"z":1.0}},)"
            R"("size":{"value":[1.5,2.0]}}})"
            "\n");
}

TEST_F(Written, ARecordHasAFeatureForEachMember) {
  const Bytes bytes = written(PredictionFormat::kTfrecord, {.id = "a", .row = 7});
  const BytesView record = BytesView(bytes).subspan(kRecordHeaderBytes, bytes.size() - kRecordFramingBytes);
  const auto features = parse_example(record);
  ASSERT_TRUE(features) << features.error().message;
  std::vector<std::string> names;
  for (const Feature& feature : *features) names.push_back(feature.name);
  EXPECT_THAT(names, ElementsAre("id", "kind/label", "kind/probabilities", "row", "size/value", "tags/labels",
                                 "tags/probabilities", "yes/label", "yes/probability"));
  const auto of = [&](std::size_t i) { return (*features)[i].values; };
  EXPECT_EQ(to_string(std::get<std::vector<BytesView>>(of(1)).front()), "c");
  EXPECT_THAT(std::get<std::vector<float>>(of(2)), ElementsAre(0.25F, 0.75F));
  EXPECT_THAT(std::get<std::vector<std::int64_t>>(of(3)), ElementsAre(7));
  EXPECT_THAT(std::get<std::vector<float>>(of(4)), ElementsAre(1.5F, 2.0F));
  EXPECT_EQ(std::get<std::vector<BytesView>>(of(5)).size(), 2U);
}

TEST(PredictionFormats, HaveNamesAndEndings) {
  for (const auto format : {PredictionFormat::kJsonLines, PredictionFormat::kCsv, PredictionFormat::kTfrecord,
                            PredictionFormat::kParquet})
    EXPECT_EQ(*parse_prediction_format(prediction_format_name(format)), format);
  EXPECT_EQ(prediction_ending(PredictionFormat::kCsv), ".csv.gz");
  EXPECT_EQ(prediction_ending(PredictionFormat::kParquet), ".parquet");
  EXPECT_FALSE(parse_prediction_format("xml"));
}

}  // namespace
}  // namespace headrace

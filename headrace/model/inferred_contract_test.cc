#include "headrace/model/inferred_contract.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Sizes = std::vector<std::int64_t>;

DatasetAttributes foreign_people() {
  DatasetAttributes data;
  data.features = {
      {"about", {"bytes", Sizes{}}},     {"age", {"float32", Sizes{}}},  {"hours", {"int64", Sizes{}}},
      {"job", {"int64", Sizes{}}},       {"rich", {"int64", Sizes{}}},   {"tags", {"int64", Sizes{2}}},
      {"vector", {"float32", Sizes{6}}}, {"wage", {"float32", Sizes{}}}, {"words", {"bytes", std::nullopt}}};
  data.vocabularies = {{"job", {"cook", "pilot", "smith"}}, {"rich", {"no", "yes"}}};
  data.features["photo"] = {.dtype = "bytes", .shape = Sizes{}, .is_image = true};
  return data;
}

TensorInfo tensor(DataType type, const Shape& shape) { return {type, shape}; }

std::vector<std::string> bound(const Signature& signature, const std::string& features,
                               const std::string& labels = "rich") {
  const auto offered = offer_features(foreign_people(), features, labels);
  EXPECT_TRUE(offered) << offered.error().message;
  const auto inputs = bind_inputs(signature, *offered);
  if (!inputs) return {inputs.error().message};
  std::vector<std::string> out;
  for (const ModelInput& input : *inputs) out.push_back(concat(input.tensor, "=", describe(input.feature)));
  return out;
}

ModelInput taken(const DatasetAttributes& data) { return {"age", "age", *model_feature(data, "age")}; }

std::vector<std::string> targets(const Signature& signature, const std::string& labels,
                                 const DatasetAttributes& data = foreign_people()) {
  const auto offered = offer_features(data, "", labels);
  EXPECT_TRUE(offered) << offered.error().message;
  auto contract = infer_contract(signature, {taken(data)}, data);
  EXPECT_TRUE(contract) << contract.error().message;
  const Status added = add_targets(*contract, *offered, data);
  if (!added) return {added.error().message};
  std::vector<std::string> out;
  for (const ModelTarget& target : contract->binding.targets)
    out.push_back(concat(target.output, "=", target.label.name, " ", target_kind_name(target.kind)));
  return out;
}

TEST(BindInputs, TakesTheNamedTheEquallyNamedAndTheOnlyOneThatFits) {
  const Signature signature{.inputs = {{"age", tensor(DataType::kFloat16, {-1, 1})},
                                       {"text", tensor(DataType::kBytes, {-1})},
                                       {"work", tensor(DataType::kInt32, {-1})},
                                       {"x", tensor(DataType::kFloat64, {-1, 2, 3})}}};
  EXPECT_THAT(bound(signature, "work=job"), ElementsAre("age=age float32[]", "text=about bytes[]",
                                                        "work=job int64[]", "x=vector float32[6]"));
}

TEST(BindInputs, MayTakeWhatIsALabelElsewhereIfNoLabelIsNamed) {
  DatasetAttributes data;
  data.features = {{"job", {"int64", Sizes{}}}, {"label", {"int64", std::nullopt}}};
  data.vocabularies = {{"job", {"cook", "pilot", "smith"}}};
  const auto offered = offer_inputs(data, "", "");
  ASSERT_TRUE(offered) << offered.error().message;
  EXPECT_TRUE(offered->labels.empty());
  const auto inputs = bind_inputs({.inputs = {{"job", tensor(DataType::kInt64, {-1})}}}, *offered);
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ(inputs->front().feature.name, "job");
  data.features["age"] = {"int64", Sizes{}};
  data.features.erase("label");
  const Signature unnamed{.inputs = {{"x", tensor(DataType::kInt64, {-1})}}};
  EXPECT_EQ(bind_inputs(unnamed, *offer_inputs(data, "", ""))->front().feature.name, "age")
      << "a likely label is taken by its name only";
  EXPECT_EQ(bind_inputs(unnamed, *offer_inputs(data, "job", ""))->front().feature.name, "job");
}

TEST(BindInputs, GuessesNothingBetweenTwoThatFit) {
  const Signature signature{.inputs = {{"x", tensor(DataType::kInt32, {-1, 1})}}};
  EXPECT_THAT(bound(signature, ""),
              ElementsAre(AllOf(HasSubstr("it is not clear what belongs to x"), HasSubstr("x int32[?, 1]"),
                                HasSubstr("hours int64[]"), HasSubstr("--features x=FEATURE"))));
  EXPECT_THAT(bound(signature, "hours"), ElementsAre("x=hours int64[]"));
}

TEST(BindInputs, ListsBothSidesWhereNamesAreWrong) {
  const Signature signature{.inputs = {{"x", tensor(DataType::kFloat32, {-1})}}};
  EXPECT_THAT(bound(signature, "y=age"),
              ElementsAre(AllOf(HasSubstr("there is no input y"), HasSubstr("x float32[?]"),
                                HasSubstr("age float32"))));
  EXPECT_THAT(bound(signature, "x=about"),
              ElementsAre(HasSubstr("x float32[?] and about bytes[] do not fit")));
  const auto unknown = offer_features(foreign_people(), "x=height", "rich");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, AllOf(HasSubstr("no such feature"), HasSubstr("age float32")));
}

TEST(BindInputs, TakesNoFloatsAsIntegers) {
  const Signature signature{.inputs = {{"age", tensor(DataType::kInt64, {-1})}}};
  EXPECT_THAT(bound(signature, ""), ElementsAre(HasSubstr("do not fit each other")));
}

TEST(BindInputs, GivesAnImageTheSizeOfTheSignature) {
  EXPECT_THAT(bound({.inputs = {{"x", tensor(DataType::kUint8, {-1, 20, 30, 1})}}}, ""),
              ElementsAre("x=photo image[20, 30, 1]"));
  EXPECT_THAT(bound({.inputs = {{"x", tensor(DataType::kFloat32, {-1, 20, 30, -1})}}}, ""),
              ElementsAre("x=photo image[20, 30, 3]"));
  EXPECT_THAT(bound({.inputs = {{"x", tensor(DataType::kFloat32, {-1, -1, -1, 3})}}}, ""),
              ElementsAre(HasSubstr("images of any size")));
}

TEST(BindInputs, RefusesWhatTakesNoRowsOrNoFeature) {
  EXPECT_THAT(bound({.inputs = {{"training", tensor(DataType::kBool, {})}}}, ""),
              ElementsAre(HasSubstr("does not begin with an open number of rows")));
  EXPECT_THAT(bound({.inputs = {{"x", tensor(DataType::kFloat32, {1, 6})}}}, ""),
              ElementsAre(HasSubstr("does not begin with an open number of rows")));
  EXPECT_THAT(bound({.inputs = {{"x", tensor(DataType::kComplex64, {-1})}}}, ""),
              ElementsAre(HasSubstr("no feature can be cast")));
}

Signature outputs_of(std::map<std::string, TensorInfo, std::less<>> outputs) {
  return {.inputs = {}, .outputs = std::move(outputs)};
}

TEST(AddTargets, InfersTheKindOfLabelAndOutput) {
  const auto one = [](const Shape& shape) {
    return outputs_of({{"out", tensor(DataType::kFloat64, shape)}});
  };
  EXPECT_THAT(targets(one({-1, 3}), "job"), ElementsAre("out=job classes"));
  EXPECT_THAT(targets(one({-1, 2}), "rich"), ElementsAre("out=rich classes"));
  EXPECT_THAT(targets(one({-1, 1}), "rich"), ElementsAre("out=rich binary"));
  EXPECT_THAT(targets(one({-1}), "rich"), ElementsAre("out=rich binary"));
  EXPECT_THAT(targets(one({-1, 2}), "tags"), ElementsAre("out=tags multi-label"));
  EXPECT_THAT(targets(one({-1, 1}), "wage"), ElementsAre("out=wage regression"));
  EXPECT_THAT(targets(one({-1, 6}), "vector"), ElementsAre("out=vector regression"));
  EXPECT_THAT(targets(one({-1, 5}), "hours"), ElementsAre("out=hours classes"));
  EXPECT_THAT(targets(one({-1, 4}), "job"),
              ElementsAre(AllOf(HasSubstr("nothing fits job"), HasSubstr("out [4]"))));
  EXPECT_THAT(targets(one({-1, 1}), "about"), ElementsAre(HasSubstr("nothing fits about")));
}

TEST(AddTargets, FindsTheOutputOfEachLabel) {
  const Signature several = outputs_of({{"class", tensor(DataType::kFloat32, {-1, 3})},
                                        {"embedding", tensor(DataType::kFloat32, {-1, 64})},
                                        {"names", tensor(DataType::kBytes, {-1, 3})},
                                        {"wage", tensor(DataType::kFloat32, {-1, 1})}});
  EXPECT_THAT(targets(several, "job,wage"), ElementsAre("class=job classes", "wage=wage regression"));
  EXPECT_THAT(targets(several, "job"), ElementsAre("class=job classes"));
  EXPECT_THAT(targets(several, "wage=rich"), ElementsAre("wage=rich binary"));
  EXPECT_THAT(targets(several, "score=job"),
              ElementsAre(AllOf(HasSubstr("there is no score"), HasSubstr("embedding [64]"))));
  const Signature twice =
      outputs_of({{"a", tensor(DataType::kFloat32, {-1, 3})}, {"b", tensor(DataType::kFloat32, {-1, 3})}});
  EXPECT_THAT(targets(twice, "job"), ElementsAre(HasSubstr("it is not clear what belongs to job")));
  EXPECT_THAT(targets(twice, "a=job,b=job"), ElementsAre("a=job classes", "b=job classes"));
}

TEST(InferContract, CarriesWhatRawRowsNeedAndRefusesAModelWithoutNumbers) {
  DatasetAttributes data = foreign_people();
  data.schema = "[features.age]";
  data.encoders = {{"vector", {"hash:6", "w", 6}}};
  const Signature signature{.inputs = {{"x", tensor(DataType::kFloat32, {-1, 6})}},
                            .outputs = {{"out", tensor(DataType::kFloat32, {-1, 2})}}};
  const auto offered = offer_inputs(data, "", "");
  const auto contract = infer_contract(signature, *bind_inputs(signature, *offered), data);
  ASSERT_TRUE(contract);
  EXPECT_EQ(contract->schema, data.schema);
  EXPECT_TRUE(contract->encoders.contains("vector"));
  EXPECT_TRUE(contract->metrics.empty());
  const auto none =
      infer_contract(outputs_of({{"names", tensor(DataType::kBytes, {-1})}}), {taken(data)}, data);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("names bytes[?], but no output has numbers for each row"));
}

TEST(AddTargets, RefusesALabelWhoseValuesDoNotFitItsClasses) {
  DatasetAttributes data = foreign_people();
  data.features["rich"].shape = Sizes{500'000};
  const auto one = [](const Shape& shape) {
    return outputs_of({{"out", tensor(DataType::kFloat32, shape)}});
  };
  EXPECT_THAT(targets(one({-1, 2}), "rich", data), ElementsAre(HasSubstr("nothing fits rich int64[500000]")));
  EXPECT_THAT(targets(one({-1, 1}), "rich", data), ElementsAre(HasSubstr("nothing fits rich int64[500000]")));
}

TEST(AddTargets, CallsALabelAsNoInputIsCalled) {
  const DatasetAttributes data = foreign_people();
  ModelInput input = taken(data);
  input.tensor = "labels_out";
  auto contract = infer_contract(outputs_of({{"out", tensor(DataType::kFloat32, {-1, 3})}}), {input}, data);
  ASSERT_TRUE(contract) << contract.error().message;
  const Status added = add_targets(*contract, *offer_features(data, "", "job"), data);
  EXPECT_TRUE(added) << added.error().message;
}

TEST(InferContract, RefusesSizesThatNoBatchHas) {
  const Signature wide{.inputs = {{"x", tensor(DataType::kFloat32, {-1, 4'294'967'297})}},
                       .outputs = {{"out", tensor(DataType::kFloat32, {-1, 2})}}};
  const auto data = taken_features(wide, "");
  ASSERT_TRUE(data) << data.error().message;
  const auto inputs = bind_inputs(wide, *offer_inputs(*data, "", ""));
  ASSERT_FALSE(inputs);
  EXPECT_THAT(inputs.error().message, HasSubstr("the shape of x has the size 4294967297"));
  const DatasetAttributes people = foreign_people();
  const auto output = outputs_of({{"out", tensor(DataType::kFloat32, {-1, 1 << 20, 1 << 20})}});
  const auto large = infer_contract(output, {taken(people)}, people);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("the shape of out has too many values"));
}

TEST(TakenFeatures, DescribeWhatFilesWithoutAManifestMustHave) {
  const Signature signature{.inputs = {{"a", tensor(DataType::kFloat16, {-1, 2})},
                                       {"b", tensor(DataType::kBool, {-1})},
                                       {"c", tensor(DataType::kBytes, {-1})},
                                       {"d", tensor(DataType::kUint8, {-1, 4, 4, 3})}}};
  const auto data = taken_features(signature, "a=numbers");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->features.at("numbers").dtype, "float32");
  EXPECT_EQ(data->features.at("numbers").shape, Sizes{2});
  EXPECT_EQ(data->features.at("b").dtype, "int64");
  EXPECT_EQ(data->features.at("c").dtype, "bytes");
  EXPECT_TRUE(data->features.at("d").is_image);
  const auto open = taken_features({.inputs = {{"a", tensor(DataType::kFloat32, {-1, -1})}}}, "");
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, AllOf(HasSubstr("a float32[?, ?]"), HasSubstr("--like")));
}

}  // namespace
}  // namespace headrace

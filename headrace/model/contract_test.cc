#include "headrace/model/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Sizes = std::vector<std::int64_t>;

// Data with a vector of a text, a number, a class, and a list.
DatasetAttributes people() {
  DatasetAttributes out{.compression = "none", .schema = "[features.age]\n"};
  out.features = {{"age", {"float32", Sizes{}}},
                  {"job", {"int64", Sizes{}}},
                  {"text", {"float32", Sizes{4}}},
                  {"tags", {"bytes", std::nullopt}},
                  {"one_hot", {"int64", Sizes{2}}},
                  {"topics", {.dtype = "int64", .shape = Sizes{2}, .columns = {"sport", "money"}}}};
  out.vocabularies = {{"job", {"cook", "pilot", "smith"}}, {"one_hot", {"no", "yes"}}};
  out.encoders = {{"text", {"hash:4", "digest-of-weights", 4}}, {"other", {"hash:8", "d", 8}}};
  return out;
}

ModelContract contract() {
  const DatasetAttributes data = people();
  const ModelBinding binding{
      .inputs = {{"age", "age", *model_feature(data, "age")}, {"text", "text", *model_feature(data, "text")}},
      .targets = {{"labels", "work", *model_feature(data, "job"), TargetKind::kClasses}},
      .outputs = {{"predictions", "work", {3}}}};
  return make_contract(binding, {"examples", "accuracy"}, data);
}

TEST(ModelFeature, IsAsTheDatasetSays) {
  const ModelFeature job = *model_feature(people(), "job");
  EXPECT_EQ(job, (ModelFeature{.name = "job", .type = DataType::kInt64, .shape = {}, .classes = 3}));
  EXPECT_EQ(job.size(), 1U);
  const ModelFeature one_hot = *model_feature(people(), "one_hot");
  EXPECT_EQ(one_hot.classes, 2);
  EXPECT_TRUE(one_hot.is_one_hot);
  EXPECT_EQ(describe(*model_feature(people(), "text")), "text float32[4]");
  EXPECT_TRUE(model_feature(people(), "tags")->is_ragged);
  EXPECT_EQ(model_feature(people(), "tags")->shape, Sizes{-1});
  EXPECT_FALSE(model_feature(people(), "none"));
}

TEST(ModelFeature, ThatRecordsMayLackIsEmptyThere) {
  DatasetAttributes data = people();
  for (auto& [name, feature] : data.features) feature.is_optional = true;
  data.features["photo"] = {.dtype = "bytes", .shape = Sizes{}, .is_image = true, .is_optional = true};
  data.features["remark"] = {.dtype = "bytes", .shape = Sizes{}, .is_optional = true};
  const ModelFeature age = *model_feature(data, "age");
  EXPECT_TRUE(age.is_optional);
  EXPECT_EQ(describe(age), "age float32[] (0 where missing)");
  EXPECT_EQ(describe(*model_feature(data, "remark")), "remark bytes[] (empty where missing)");
  EXPECT_FALSE(model_feature(data, "photo")->is_optional) << "there are no pixels for a gap";
}

TEST(ModelContract, SaysWhichFeaturesMayBeMissing) {
  ModelContract made = contract();
  made.binding.inputs.front().feature.is_optional = true;
  const auto parsed = parse_contract(to_json(made).dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->binding.inputs[0].feature.is_optional);
  EXPECT_FALSE(parsed->binding.inputs[1].feature.is_optional);
}

TEST(ModelContract, KeepsRaggedFeaturesAndMasks) {
  const ModelFeature tags = *model_feature(people(), "tags");
  ModelContract made = contract();
  made.binding.inputs.push_back({"tags", "tags", tags});
  ModelFeature mask = tags;
  mask.shape = {20};
  mask.is_mask = true;
  made.binding.inputs.push_back({"tags_mask", "tags_mask", mask});
  const auto parsed = parse_contract(to_json(made).dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->binding.inputs[2].feature, tags);
  EXPECT_EQ(parsed->binding.inputs[3].feature, mask);
  EXPECT_TRUE(check_inputs(*parsed, people(), "there"));
  EXPECT_EQ(describe(tags), "tags bytes[any number]");
  EXPECT_EQ(describe(mask), "the mask of tags");
  DatasetAttributes even = people();
  even.features["tags"].shape = Sizes{3};
  EXPECT_FALSE(check_inputs(*parsed, even, "there"));
}

TEST(ModelContract, ARaggedFeatureHasOneSizeAndIsNoLabel) {
  const auto error = [](auto change) {
    ModelContract made = contract();
    made.binding.inputs.push_back({"tags", "tags", *model_feature(people(), "tags")});
    change(made);
    const auto parsed = parse_contract(to_json(made).dump());
    return parsed ? std::string("none") : parsed.error().message;
  };
  EXPECT_THAT(error([](ModelContract& made) {
                made.binding.inputs.back().feature.shape = {2, 2};
              }),
              HasSubstr("ragged feature tags"));
  EXPECT_THAT(error([](ModelContract& made) { made.binding.inputs.back().feature.shape = {0}; }),
              HasSubstr("ragged feature tags"));
  EXPECT_THAT(error([](ModelContract& made) { made.binding.inputs.back().feature.is_ragged = false; }),
              HasSubstr("the size -1"));
  EXPECT_THAT(error([](ModelContract& made) { made.binding.targets.front().label.is_mask = true; }),
              HasSubstr("is ragged"));
}

TEST(ModelContract, SaysWhatScoresAreAndWhatWeighsRecords) {
  ModelContract made = contract();
  EXPECT_FALSE(to_json(made).contains("weights"));
  EXPECT_FALSE(to_json(made)["targets"].values()[0].contains("scores")) << "they are probabilities";
  made.binding.targets[0].scores = TargetScores::kLogit;
  made.binding.weights = *model_feature(people(), "age");
  const auto parsed = parse_contract(to_json(made).dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->binding.targets[0].scores, TargetScores::kLogit);
  EXPECT_EQ(parsed->binding.weights, made.binding.weights);
  EXPECT_THAT(parsed->binding.step_tensors(),
              ElementsAre("age", "text", "labels", "record_weights", "weights"));
  EXPECT_EQ(parsed->binding.step_features().back().name, "age");
  EXPECT_EQ(describe(parsed->binding).back(), "weighs records by age float32[]");
  const auto error_of = [&] { return parse_contract(to_json(made).dump()).error().message; };
  made.binding.weights = {.name = "cost", .shape = {2}};
  EXPECT_THAT(error_of(), HasSubstr("the weights cost float32[2] are not one number"));
  Json odd = to_json(contract());
  odd["weights"] = 17;
  EXPECT_FALSE(parse_contract(odd.dump()));
  std::string text = to_json(made).dump();
  text.replace(text.find("\"logit\""), 7, "\"guess\"");
  EXPECT_THAT(parse_contract(text).error().message, HasSubstr("scores are guess"));
}

TEST(ModelContract, HoldsWhatItsFeaturesNeed) {
  const ModelContract made = contract();
  EXPECT_EQ(made.encoders,
            (std::map<std::string, EncoderDescription>{{"text", {"hash:4", "digest-of-weights", 4}}}));
  ASSERT_EQ(made.vocabularies.size(), 1U);
  EXPECT_EQ(made.vocabularies.at("job").size(), 3U);
  EXPECT_EQ(made.schema, "[features.age]\n");
}

TEST(ModelContract, ComesBackAsItWas) {
  const std::string text = to_json(contract()).dump();
  const auto parsed = parse_contract(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(to_json(*parsed).dump(), text);
  EXPECT_EQ(parsed->binding.targets[0].kind, TargetKind::kClasses);
  EXPECT_EQ(parsed->binding.inputs[1].feature.shape, Sizes{4});
}

TEST(ModelContract, WhatLacksAMemberOrHasAnotherTypeIsDamage) {
  const Json whole = to_json(contract());
  for (const char* const member :
       {"inputs", "targets", "outputs", "metrics", "vocabularies", "encoders", "schema"}) {
    Json::Object members = whole.members();
    members.erase(member);
    EXPECT_EQ(parse_contract(Json(members).dump()).error().code, Code::kDataLoss) << member;
    members[member] = 17;
    EXPECT_EQ(parse_contract(Json(members).dump()).error().code, Code::kDataLoss) << member;
  }
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = whole.dump();
    text.replace(text.find(from), from.size(), to);
    return parse_contract(text).error().message;
  };
  EXPECT_THAT(with("\"tensor\":", "\"x\":"), HasSubstr("tensor"));
  EXPECT_THAT(with("\"kind\":\"classes\"", "\"kind\":\"guess\""), HasSubstr("kind is guess"));
  EXPECT_THAT(with("\"dtype\":\"float32\"", "\"dtype\":\"float99\""), HasSubstr("dtype is float99"));
  EXPECT_THAT(with("\"shape\":[4]", "\"shape\":[0]"), HasSubstr("the shape of text has the size 0"));
  EXPECT_THAT(with("\"shape\":[4]", "\"shape\":[1,1,1,1,1,1,1,1]"), HasSubstr("too many dimensions"));
}

TEST(ModelContract, WhoseOutputAndLabelDoNotFitEachOtherIsDamage) {
  struct Case {
    TargetKind kind;
    Sizes output, label;
    bool fits;
  };
  for (const auto& [kind, output, label, fits] :
       {Case{TargetKind::kClasses, {3}, {}, true}, Case{TargetKind::kClasses, {3}, {3}, true},
        Case{TargetKind::kClasses, {3}, {2}, false}, Case{TargetKind::kClasses, {3, 1}, {}, false},
        Case{TargetKind::kClasses, {-1}, {}, false}, Case{TargetKind::kBinary, {1}, {}, true},
        Case{TargetKind::kBinary, {}, {}, true}, Case{TargetKind::kBinary, {2}, {}, false},
        Case{TargetKind::kBinary, {1}, {2}, false}, Case{TargetKind::kMultiLabel, {3}, {3}, true},
        Case{TargetKind::kMultiLabel, {3}, {}, false}, Case{TargetKind::kRegression, {2, 2}, {4}, true},
        Case{TargetKind::kRegression, {2}, {}, false}}) {
    ModelContract made = contract();
    made.vocabularies.clear();
    made.binding.targets[0].kind = kind;
    made.binding.targets[0].label.shape = label;
    made.binding.outputs[0].shape = output;
    const auto parsed = parse_contract(to_json(made).dump());
    EXPECT_EQ(parsed.has_value(), fits) << target_kind_name(kind) << testing::PrintToString(output);
    if (!parsed) {
      EXPECT_THAT(parsed.error().message, HasSubstr("do not fit each other"));
    }
  }
  ModelContract huge = contract();
  huge.vocabularies.clear();
  huge.binding.outputs[0].shape = {1 << 29};
  EXPECT_THAT(parse_contract(to_json(huge).dump()).error().message, HasSubstr("scores"));
  ModelContract two = contract();
  two.binding.targets[0] = {"labels", "work", *model_feature(people(), "one_hot"), TargetKind::kBinary};
  two.binding.outputs[0].shape = {1};
  two.vocabularies = {{"one_hot", {"no", "yes"}}};
  EXPECT_TRUE(parse_contract(to_json(two).dump())) << "a yes or no as a 1 among zeros";
  ModelContract other = contract();
  other.vocabularies["job"].emplace_back("a fourth");
  EXPECT_FALSE(parse_contract(to_json(other).dump())) << "three scores for four classes";
  other = contract();
  other.binding.targets[0].output = "none";
  EXPECT_THAT(parse_contract(to_json(other).dump()).error().message, HasSubstr("the output none"));
}

TEST(ClassNames, OfSeveralLabelsAreTheColumnsThatTheyWereMadeFrom) {
  const DatasetAttributes data = people();
  const ModelBinding binding{
      .inputs = {{"age", "age", *model_feature(data, "age")}},
      .targets = {{"labels", "out", *model_feature(data, "topics"), TargetKind::kMultiLabel}},
      .outputs = {{"predictions", "out", {2}}}};
  const auto made = parse_contract(to_json(make_contract(binding, {"examples"}, data)).dump());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(class_names(*made, made->binding.targets[0]), ElementsAre("sport", "money"));
}

TEST(ModelContract, IsRefusedWhereWhoReadsItWouldReadBeyondAColumn) {
  const auto error_of = [](const ModelContract& made) {
    const auto parsed = parse_contract(to_json(made).dump());
    return parsed ? std::string("it is read") : parsed.error().message;
  };
  ModelContract twice = contract();
  twice.binding.inputs.push_back({"other", "other", twice.binding.inputs[1].feature});
  EXPECT_EQ(error_of(twice), "it is read") << "a feature may be taken twice";
  twice.binding.inputs[2].feature.shape = {400};
  EXPECT_THAT(error_of(twice), HasSubstr("text float32[4] occurs a second time as text float32[400]"));
  ModelContract texts = contract();
  texts.binding.targets[0].label.type = DataType::kBytes;
  EXPECT_THAT(error_of(texts), HasSubstr("has no numbers"));
  ModelContract named = contract();
  named.binding.inputs[1].tensor = "age";
  EXPECT_THAT(error_of(named), HasSubstr("have the same name"));
}

TEST(ClassNames, AreThoseOfTheVocabularyOrNumbers) {
  ModelContract made = contract();
  EXPECT_THAT(class_names(made, made.binding.targets[0]), ElementsAre("cook", "pilot", "smith"));
  made.vocabularies.clear();
  EXPECT_THAT(class_names(made, made.binding.targets[0]), ElementsAre("0", "1", "2"));
  made.binding.targets[0].kind = TargetKind::kBinary;
  EXPECT_THAT(class_names(made, made.binding.targets[0]), ElementsAre("0", "1"));
  made.binding.targets[0].kind = TargetKind::kRegression;
  EXPECT_THAT(class_names(made, made.binding.targets[0]), IsEmpty());
}

TEST(CheckInputs, NamesWhatTheDataLackOrHaveOtherwise) {
  DatasetAttributes data = people();
  EXPECT_TRUE(check_inputs(contract(), data, "memory://d"));
  data.features["age"].dtype = "int64";
  Error error = check_inputs(contract(), data, "memory://d").error();
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("takes age float32[]"), HasSubstr("memory://d has age int64[]")));
  data.features.erase("age");
  EXPECT_THAT(check_inputs(contract(), data, "").error().message, HasSubstr("has no such feature"));
  data = people();
  data.features["text"].shape.reset();
  EXPECT_THAT(check_inputs(contract(), data, "").error().message, HasSubstr("text float32[any number]"));
}

TEST(CheckInputs, AnotherEncoderIsRefused) {
  DatasetAttributes data = people();
  data.encoders["text"].weights_digest = "others";
  const Error error = check_inputs(contract(), data, "memory://d").error();
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("hash:4 (weights digest-of-weigh"), HasSubstr("hash:4 (weights others)")));
  data.encoders.clear();
  EXPECT_THAT(check_inputs(contract(), data, "").error().message, HasSubstr("prepared with no encoder"));
}

TEST(CheckTargets, OtherClassesAreRefused) {
  DatasetAttributes data = people();
  EXPECT_TRUE(check_targets(contract(), data, "memory://d"));
  data.vocabularies["job"] = {"cook", "smith"};
  const Error error = check_targets(contract(), data, "memory://d").error();
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, AllOf(HasSubstr("cook, pilot, smith of job"), HasSubstr("are cook, smith")));
  data.vocabularies.clear();
  EXPECT_THAT(check_targets(contract(), data, "").error().message, HasSubstr("are unknown"));
}

}  // namespace
}  // namespace headrace

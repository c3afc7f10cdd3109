#include "headrace/evaluate/answers.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace {
namespace {

using Row = std::vector<std::vector<float>>;

ModelOutput output(const std::string& name, std::int64_t values) { return {name, name, {values}}; }

ModelTarget target(const std::string& output, TargetKind kind) {
  return {.tensor = "labels", .output = output, .label = {.name = "y of " + output}, .kind = kind};
}

// A model with one output, "out", that has `values` values.
ModelContract contract(TargetKind kind, std::int64_t values, std::vector<std::string> classes = {}) {
  ModelContract made{
      .binding = {.inputs = {}, .targets = {target("out", kind)}, .outputs = {output("out", values)}},
      .metrics = {"examples"}};
  if (!classes.empty()) made.vocabularies["y of out"] = std::move(classes);
  return made;
}

std::vector<std::span<const float>> views(const Row& row) { return {row.begin(), row.end()}; }
std::string json(const ModelContract& contract, const Row& row, std::string_view about = "") {
  return AnswerFormat(contract).to_json(about, views(row));
}
std::string text(const ModelContract& contract, const Row& row) {
  return AnswerFormat(contract).to_text(views(row));
}

TEST(AnswerFormat, ClassesHaveTheNameOfTheHighestScore) {
  const ModelContract made = contract(TargetKind::kClasses, 3, {"a", "b", "c"});
  EXPECT_EQ(json(made, {{0.1F, 0.7F, 0.2F}}), R"({"label":"b","probabilities":{"a":0.1,"b":0.7,"c":0.2}})");
  EXPECT_EQ(json(made, {{0.5F, 0.5F, 0}}), R"({"label":"a","probabilities":{"a":0.5,"b":0.5,"c":0.0}})")
      << "in a tie the first";
  EXPECT_EQ(text(made, {{0.1F, 0.7F, 0.2F}}), "b  0.7000");
  EXPECT_EQ(text(contract(TargetKind::kClasses, 2), {{0, 1}}), "1  1.0000") << "without names: numbers";
}

TEST(AnswerFormat, ABinaryAnswerIsYesAboveAHalf) {
  const ModelContract made = contract(TargetKind::kBinary, 1, {"no", "yes"});
  EXPECT_EQ(json(made, {{0.75F}}), R"({"label":"yes","probability":0.75})");
  EXPECT_EQ(json(made, {{0.5F}}), R"({"label":"no","probability":0.5})");
  EXPECT_EQ(text(made, {{0.75F}}), "yes  0.7500");
}

TEST(AnswerFormat, LogitsAndMarginsAreYesAboveZero) {
  for (const TargetScores scores : {TargetScores::kLogit, TargetScores::kMargin}) {
    ModelContract made = contract(TargetKind::kBinary, 1, {"no", "yes"});
    made.binding.targets[0].scores = scores;
    EXPECT_EQ(json(made, {{0.25F}}), R"({"label":"yes","score":0.25})");
    EXPECT_EQ(json(made, {{0}}), R"({"label":"no","score":0.0})");
    EXPECT_EQ(AnswerFormat(made).columns(), (std::vector<std::string>{"label", "score"}));
    EXPECT_EQ(text(made, {{-0.25F}}), "no  -0.2500");
    made = contract(TargetKind::kMultiLabel, 2, {"a", "b"});
    made.binding.targets[0].scores = scores;
    EXPECT_EQ(json(made, {{0.25F, -1}}), R"({"labels":["a"],"scores":{"a":0.25,"b":-1.0}})");
    EXPECT_EQ(AnswerFormat(made).columns(), (std::vector<std::string>{"labels", "score:a", "score:b"}));
    Bytes example;
    AnswerFormat(made).append_example({}, views({{0.25F, -1}}), example);
    EXPECT_NE(as_text(example).find("scores"), std::string_view::npos);
    EXPECT_EQ(as_text(example).find("probabilities"), std::string_view::npos);
  }
}

TEST(AnswerFormat, LabelsAreAllThoseAboveAHalf) {
  const ModelContract made = contract(TargetKind::kMultiLabel, 3, {"a", "b", "c"});
  EXPECT_EQ(json(made, {{0.75F, 0.25F, 1}}),
            R"({"labels":["a","c"],"probabilities":{"a":0.75,"b":0.25,"c":1.0}})");
  EXPECT_EQ(json(made, {{0, 0.5F, 0}}), R"({"labels":[],"probabilities":{"a":0.0,"b":0.5,"c":0.0}})");
  EXPECT_EQ(text(made, {{0.75F, 0.25F, 1}}), "a 0.7500, c 1.0000");
  EXPECT_EQ(text(made, {{0, 0, 0}}), "none");
}

TEST(AnswerFormat, NumbersAreOneOrAList) {
  EXPECT_EQ(json(contract(TargetKind::kRegression, 1), {{-2.5F}}), R"({"value":-2.5})");
  EXPECT_EQ(json(contract(TargetKind::kRegression, 2), {{1, 0.1F}}), R"({"value":[1.0,0.1]})");
  EXPECT_EQ(text(contract(TargetKind::kRegression, 2), {{1, 0.1F}}), "1.0000 0.1000");
}

TEST(AnswerFormat, SeveralOutputsAreNamed) {
  ModelContract made = contract(TargetKind::kBinary, 1, {"no", "yes"});
  made.binding.outputs.push_back(output("embedding", 2));
  EXPECT_EQ(
      json(made, {{0.75F}, {1, 2}}, R"("id":"x")"),
      R"({"id":"x","outputs":{"out":{"label":"yes","probability":0.75},"embedding":{"value":[1.0,2.0]}}})");
  EXPECT_EQ(text(made, {{0.75F}, {1, 2}}), "out: yes  0.7500  embedding: 1.0000 2.0000");
}

TEST(AnswerFormat, ColumnsOfATableHaveTypes) {
  ModelContract made = contract(TargetKind::kMultiLabel, 2, {"a", "b"});
  made.binding.outputs.push_back(output("embedding", 2));
  made.binding.outputs.push_back(output("size", 1));
  using Types = std::map<std::string, std::string>;
  EXPECT_EQ(AnswerFormat(made).column_types(), (Types{{"embedding/value", "list<float32>"},
                                                      {"out/labels", "list<string>"},
                                                      {"out/probability:a", "float32"},
                                                      {"out/probability:b", "float32"},
                                                      {"size/value", "float32"}}));
  EXPECT_EQ(AnswerFormat(contract(TargetKind::kBinary, 1, {"no", "yes"})).column_types(),
            (Types{{"label", "string"}, {"probability", "float32"}}));
}

TEST(AnswerFormat, WhatComesFirstIsWrittenAsItIs) {
  const ModelContract made = contract(TargetKind::kRegression, 1);
  EXPECT_EQ(json(made, {{1}}, json_member("id", "x\xff\"\n")),
            "{\"id\":\"x\xEF\xBF\xBD\\\"\\n\",\"value\":1.0}");
  EXPECT_EQ(json(made, {{1}}, "\"row\":7"), R"({"row":7,"value":1.0})");
}

}  // namespace
}  // namespace headrace

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/record/example.h"
#include "headrace/serve/protocol/echo_test.h"
#include "headrace/serve/protocol/example_check.h"
#include "headrace/serve/protocol/examples_answer.h"
#include "headrace/serve/protocol/examples_request.h"
#include "headrace/serve/protocol/wire_literal_test.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kMemory = 1 << 20;
constexpr auto kClassify = ExamplesMethod::kClassify;
constexpr auto kRegress = ExamplesMethod::kRegress;

ServedSignature classifier() {
  return {"serving_default",
          {{"inputs", DataType::kBytes, {-1}}},
          {{"classes", DataType::kBytes, {-1, -1}}, {"scores", DataType::kFloat32, {-1, -1}}},
          true};
}

ServedSignature regressor(Shape shape = {-1, 1}) {
  return {"regress", {{"inputs", DataType::kBytes, {-1}}}, {{"outputs", DataType::kFloat32, shape}}, true};
}

// The examples that a model would get.
std::vector<std::string> texts_of_rows(const BoundRequest& bound) {
  std::vector<std::string> texts;
  const auto keep = [&](const std::vector<TensorView>& inputs, const std::shared_ptr<const void>& owner) {
    for (const std::string_view text : inputs[0].strings) texts.emplace_back(text);
    return BatchOutputs{inputs, owner};
  };
  const auto answers = run_request(bound, 64, keep);
  EXPECT_TRUE(answers) << answers.error().message;
  texts.resize(bound.rows());
  return texts;
}

// "age=[1]; name=['x']" for each example, features ascending.
std::string shown(std::string_view example) {
  const auto features = parse_example(as_bytes(example));
  if (!features) return features.error().message;
  std::string out;
  for (const Feature& feature : *features) {
    out += concat(out.empty() ? "" : "; ", feature.name, "=");
    if (const auto* floats = std::get_if<std::vector<float>>(&feature.values)) {
      for (const float value : *floats) out += concat(value, "f ");
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&feature.values)) {
      for (const std::int64_t value : *integers) out += concat(value, " ");
    } else if (const auto* texts = std::get_if<std::vector<BytesView>>(&feature.values)) {
      for (const BytesView text : *texts) out += concat("'", as_text(text), "' ");
    }
  }
  return out;
}

std::vector<std::string> examples_of_json(std::string_view body) {
  const auto request = ExamplesRequest::parse_json(body, kMemory);
  if (!request) return {error_text(request.error())};
  const auto bound = request->bind(classifier(), kClassify);
  if (!bound) return {error_text(bound.error())};
  std::vector<std::string> out;
  for (const std::string& text : texts_of_rows(**bound)) {
    EXPECT_TRUE(is_example(as_bytes(text)));
    out.push_back(shown(text));
  }
  return out;
}

TEST(ExamplesJson, BecomeExamplesByTheTypesOfTheirValues) {
  EXPECT_THAT(examples_of_json(R"({"examples": [
                {"age": 7, "tall": [true, false], "size": [1.5, -2e3], "name": "é", "raw": {"b64": "AAE="}},
                {"age": -1, "none": [], "big": 9223372036854775807}]})"),
              ElementsAre(concat("age=7 ; name='é' ; raw='", std::string_view("\0\1", 2),
                                 "' ; size=1.5f -2000f ; tall=1 0 "),
                          "age=-1 ; big=9223372036854775807 ; none="));
}

TEST(ExamplesJson, GetTheContextUnlessTheyHaveTheFeature) {
  EXPECT_THAT(examples_of_json(R"({"context": {"a": 1, "b": "x"}, "examples": [{"a": 2}, {"c": 3}]})"),
              ElementsAre("a=2 ; b='x' ", "a=1 ; b='x' ; c=3 "));
}

TEST(ExamplesJson, ThatAreWrongAreToldWhy) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"[]", "not an object"},
      {"{", "reading the request"},
      {"{}", "lacks \"examples\""},
      {R"({"examples": {}})", "not a list"},
      {R"({"examples": []})", "no examples"},
      {R"({"examples": [1]})", "example 0: 1 is not an object"},
      {R"({"examples": [{}, {"a": null}]})", "example 1: feature a: null"},
      {R"({"examples": [{"a": [[1]]}]})", "feature a"},
      {R"({"examples": [{"a": {"b": 1}}]})", "feature a"},
      {R"({"examples": [{"a": [1, 2.5]}]})", "another type"},
      {R"({"examples": [{"a": 18446744073709551615}]})", "feature a"},
      {R"({"examples": [{"a": 1e300}]})", "float32"},
      {R"({"examples": [{"a": {"b64": "?"}}]})", "base64"},
      {R"({"context": [], "examples": [{}]})", "\"context\""},
      {R"({"signature_name": 1, "examples": [{}]})", "signature_name"},
  };
  for (const auto& [body, said] : cases) {
    const auto request = ExamplesRequest::parse_json(body, kMemory);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, Code::kInvalidArgument);
    EXPECT_THAT(request.error().message, HasSubstr(said)) << body;
  }
}

TEST(ExamplesJson, CopiesOfTheContextAreBounded) {
  const std::string body =
      concat(R"({"context": {"a": ")", std::string(1000, 'x'), R"("}, "examples": [{}, {}, {}]})");
  EXPECT_TRUE(ExamplesRequest::parse_json(body, 4000));
  const auto refused = ExamplesRequest::parse_json(body, 3000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

// As protobuf's Python classes write them: model_spec, and an example a=[1] or a=['x'].
constexpr std::string_view kModel = "0a030a016d";  // "m"
constexpr std::string_view kExampleOne =
    "0a0c0a0a0a01611205"
    "1a030a0101";                                                          // a: int64 1
constexpr std::string_view kExampleText = "0a0c0a0a0a016112050a030a0178";  // a: 'x'

std::string input_message(std::string_view list, std::uint32_t kind = 1) {
  return concat(kModel, wire_field(2, wire_field(kind, list)));
}

std::vector<std::string> examples_of_message(const std::string& message) {
  const Bytes bytes = from_hexadecimal(message);
  const auto request = ExamplesRequest::parse_message(bytes, kMemory);
  if (!request) return {error_text(request.error())};
  EXPECT_EQ(request->model().name, "m");
  EXPECT_EQ(request->signature_name(), "serving_default");
  const auto bound = request->bind(classifier(), kClassify);
  std::vector<std::string> out;
  for (const std::string& text : texts_of_rows(**bound)) out.push_back(shown(text));
  return out;
}

TEST(ExamplesMessage, HasExamplesWithAContextOrWithout) {
  const std::string two = concat(wire_field(1, kExampleOne), wire_field(1, kExampleText));
  EXPECT_THAT(examples_of_message(input_message(two)), ElementsAre("a=1 ", "a='x' "));
  const std::string with_context =
      concat(wire_field(1, ""), wire_field(1, kExampleText), wire_field(2, kExampleOne));
  EXPECT_THAT(examples_of_message(input_message(with_context, 2)), ElementsAre("a=1 ", "a='x' "));
}

TEST(ExamplesMessage, ThatIsDamagedIsRefused) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"", "model_spec"},
      {std::string(kModel), "no examples"},
      {input_message(""), "no examples"},
      {input_message(wire_field(1, "0a05")), "example 0 is not a well-formed"},
      {input_message(concat(wire_field(1, kExampleOne), wire_field(1,
                                                                   "0a0c0a0a0a01611205"
                                                                   "12030a0101"))),
       "example 1 is not a well-formed"},  // a float of one byte
      {input_message(concat(wire_field(1, ""), wire_field(2, "0aff")), 2), "the context"},
      {concat(kModel, "12ff"), "well-formed"},
  };
  for (const auto& [message, said] : cases)
    EXPECT_THAT(examples_of_message(message)[0], HasSubstr(said)) << message;
}

TEST(ExampleCheck, KnowsPackedListsAndOthers) {
  for (const std::string_view good : {"", "0a00", "0a020a00", "120161"})
    EXPECT_TRUE(is_example(from_hexadecimal(good))) << good;
  const auto feature = [](std::string_view value) {
    return from_hexadecimal(wire_field(1, wire_field(1, concat("0a0161", wire_field(2, value)))));
  };
  // An integer in a field of its own; unknown fields; a float in a field of its own, and two packed.
  for (const std::string_view good :
       {"1a020801", "1a0512030801ff", "12050d00000000", "120a0a080000000000000000"})
    EXPECT_TRUE(is_example(feature(good))) << good;
  // No list; an integer for a string; a varint without end; an integer for a float; a float of two bytes.
  for (const std::string_view bad : {"0801", "0a020801", "1a030a01ff", "12020801", "12040a020000"})
    EXPECT_FALSE(is_example(feature(bad))) << bad;
}

TEST(ExamplesSignature, MustHaveTheNamesAndTypes) {
  EXPECT_TRUE(check_examples_signature(classifier(), kClassify));
  EXPECT_TRUE(check_examples_signature(regressor(), kRegress));
  EXPECT_TRUE(check_examples_signature(regressor({-1}), kRegress));
  EXPECT_FALSE(check_examples_signature(classifier(), kRegress));
  EXPECT_FALSE(check_examples_signature(regressor({-1, 2}), kRegress));
  const auto error = check_examples_signature(regressor(), kClassify).error();
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("the signature regress takes no tf.Examples for classify"));
  ServedSignature other = classifier();
  other.outputs.erase(other.outputs.begin());
  EXPECT_TRUE(check_examples_signature(other, kClassify)) << "scores alone";
  other.outputs[0].type = DataType::kFloat64;
  EXPECT_FALSE(check_examples_signature(other, kClassify));
  other = classifier();
  other.inputs[0].name = "examples";
  EXPECT_FALSE(check_examples_signature(other, kClassify));
}

// Answers of a model that gives every example the same rows.
struct Outputs {
  std::vector<std::string_view> labels{};
  std::vector<float> scores{};
};

Result<BatchAnswers> answers_to(std::uint64_t rows, const ServedSignature& signature, const Outputs& of) {
  const std::string list = concat("[{}", rows == 2 ? ",{}" : "", "]");
  const auto request = ExamplesRequest::parse_json(concat(R"({"examples": )", list, "}"), kMemory);
  const ExamplesMethod method = signature.outputs[0].name == "outputs" ? kRegress : kClassify;
  const auto bound = request->bind(signature, method);
  const auto model = [&](const std::vector<TensorView>& inputs, const std::shared_ptr<const void>&) {
    struct Memory {
      std::vector<std::string_view> labels;
      std::vector<float> scores;
    };
    const auto memory = std::make_shared<Memory>();
    const std::int64_t batch = inputs[0].shape[0];
    for (std::int64_t i = 0; i < batch; ++i) {
      memory->labels.insert(memory->labels.end(), of.labels.begin(), of.labels.end());
      memory->scores.insert(memory->scores.end(), of.scores.begin(), of.scores.end());
    }
    BatchOutputs out{{}, memory};
    const auto width = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
    for (const ServedTensor& output : signature.outputs) {
      if (output.type == DataType::kBytes)
        out.tensors.push_back(TensorView::of(memory->labels, {batch, width(of.labels)}));
      else
        out.tensors.push_back(TensorView::of(memory->scores.data(), {batch, width(of.scores)}));
    }
    return out;
  };
  return run_request(**bound, 64, model);
}

TEST(ExamplesAnswer, ClassesArePairsOfLabelAndScore) {
  const auto answers = answers_to(2, classifier(), {{"no", "\xff"}, {0.25, 0.75}});
  ASSERT_TRUE(answers);
  EXPECT_EQ(*rest_results(*answers, classifier(), kClassify),
            R"({"results":[[["no",0.25],[{"b64":"/w=="},0.75]],[["no",0.25],[{"b64":"/w=="},0.75]]]})");
  const Bytes results = *results_message(*answers, classifier(), kClassify);
  const std::string one =
      "0a090a026e6f150000803e"
      "0a080a01ff150000403f";
  EXPECT_EQ(to_hexadecimal(results), concat(wire_field(1, one), wire_field(1, one)));
  EXPECT_EQ(to_hexadecimal(results_response(from_hexadecimal("0a00"), "m", 3, "s")),
            "0a020a00"
            "120a0a016d120208031a0173");
}

TEST(ExamplesAnswer, LabelsOrScoresMayBeMissing) {
  ServedSignature signature = classifier();
  signature.outputs.pop_back();
  EXPECT_EQ(*rest_results(*answers_to(1, signature, {{"a", "b"}, {}}), signature, kClassify),
            R"({"results":[[["a",0.0],["b",0.0]]]})");
  signature = classifier();
  signature.outputs.erase(signature.outputs.begin());
  EXPECT_EQ(*rest_results(*answers_to(1, signature, {{}, {0.5}}), signature, kClassify),
            R"({"results":[[["",0.5]]]})");
}

TEST(ExamplesAnswer, ARegressionIsOneValue) {
  const auto answers = answers_to(2, regressor(), {{}, {1.5}});
  EXPECT_EQ(*rest_results(*answers, regressor(), kRegress), R"({"results":[1.5,1.5]})");
  EXPECT_EQ(to_hexadecimal(*results_message(*answers, regressor(), kRegress)),
            "0a050d0000c03f0a050d0000c03f");
  const auto many = answers_to(1, regressor({-1, -1}), {{}, {1.5, 2}});
  EXPECT_EQ(rest_results(*many, regressor({-1, -1}), kRegress).error().code, Code::kFailedPrecondition);
}

TEST(ExamplesAnswer, AsManyScoresAsClassesAreNeeded) {
  const auto answers = answers_to(1, classifier(), {{"a"}, {0.25, 0.75}});
  EXPECT_EQ(rest_results(*answers, classifier(), kClassify).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(results_message(*answers, classifier(), kClassify).error().code, Code::kFailedPrecondition);
}

std::string task(std::string_view model, std::string_view signature, std::string_view method) {
  Bytes out;
  WireWriter(out).message(1, [&](WireWriter& specification) {
    specification.text(1, model);
    specification.text(3, signature);
  });
  WireWriter(out).text(2, method);
  return wire_field(1, to_hexadecimal(out));
}

TEST(MultiInference, HasTasksOfOneModel) {
  const std::string input = wire_field(2, wire_field(1, wire_field(1, kExampleOne)));
  constexpr std::string_view kToClassify = "tensorflow/serving/classify";
  constexpr std::string_view kToRegress = "tensorflow/serving/regress";
  const Bytes message =
      from_hexadecimal(concat(task("m", "", kToClassify), task("m", "r", kToRegress), input));
  const auto request = MultiInferenceRequest::parse(message, kMemory);
  ASSERT_TRUE(request) << request.error().message;
  ASSERT_EQ(request->tasks().size(), 2);
  EXPECT_EQ(request->tasks()[0].specification.signature_name, "serving_default");
  EXPECT_EQ(request->tasks()[1].method, kRegress);
  EXPECT_TRUE(request->bind(regressor(), kRegress));
  EXPECT_FALSE(request->bind(regressor(), kClassify));
  const std::pair<std::string, std::string_view> cases[] = {
      {input, "no tasks"},
      {concat(task("m", "", kToClassify), task("n", "r", kToRegress), input), "must use one model"},
      {concat(task("m", "", kToClassify), task("m", "serving_default", kToRegress), input), "two tasks"},
      {concat(task("", "", kToClassify), input), "model_spec"},
      {concat(task("m", "", "tensorflow/serving/predict"), input), "method_name"},
      {task("m", "", kToClassify), "no examples"},
  };
  for (const auto& [text, said] : cases) {
    const Bytes wrong = from_hexadecimal(text);
    const auto refused = MultiInferenceRequest::parse(wrong, kMemory);
    ASSERT_FALSE(refused) << said;
    EXPECT_THAT(refused.error().message, HasSubstr(said));
  }
  Bytes response;
  append_task_result(response, from_hexadecimal("0a00"), kRegress, "m", 3, "r");
  EXPECT_EQ(to_hexadecimal(response), "0a100a0a0a016d120208031a01721a020a00");
}

}  // namespace
}  // namespace headrace

#include "headrace/serve/protocol/kserve_v2_request.h"

#include <gmock/gmock.h>

#include <random>

#include "headrace/base/text.h"
#include "headrace/serve/protocol/echo_test.h"
#include "headrace/serve/protocol/kserve_v2.h"

namespace headrace {
namespace {

using testing::HasSubstr;

ServedSignature same_outputs(std::vector<ServedTensor> tensors, bool is_batched = true) {
  return {.name = "serving_default", .inputs = tensors, .outputs = tensors, .is_batched = is_batched};
}

ServedSignature input_x(DataType type, const Shape& shape) { return same_outputs({{"x", type, shape}}); }

struct Answered {
  InferAnswer answer;
  std::string error;
};

Answered infer(std::string_view body, std::optional<std::uint64_t> header_bytes,
               const ServedSignature& signature, std::uint64_t rows_max = 64) {
  const auto failed = [](const Error& error) {
    return Answered{{}, concat('<', code_name(error.code), ": ", error.message, '>')};
  };
  const auto request = InferRequest::parse(body, header_bytes);
  if (!request) return failed(request.error());
  const auto bound = request->bind(signature);
  if (!bound) return failed(bound.error());
  const auto answers = run_request(**bound, rows_max);
  if (!answers) return failed(answers.error());
  const auto answer = infer_answer(*answers, signature, request->answer_form(), "m", 3);
  return answer ? Answered{*answer, ""} : failed(answer.error());
}

// The answer to one input in JSON, without what all answers begin with; or the error.
std::string output_of(std::string_view input, const ServedSignature& signature, std::uint64_t rows_max = 64) {
  const Answered got = infer(concat("{\"inputs\":[", input, "]}"), std::nullopt, signature, rows_max);
  if (!got.error.empty()) return got.error;
  EXPECT_FALSE(got.answer.header_bytes);
  constexpr std::string_view kBegin = R"({"model_name":"m","model_version":"3","outputs":[)";
  EXPECT_TRUE(got.answer.body.starts_with(kBegin)) << got.answer.body;
  return got.answer.body.substr(kBegin.size(), got.answer.body.size() - kBegin.size() - 2);
}

TEST(InferRequest, TakesAndAnswersJson) {
  struct Case {
    ServedSignature signature;
    std::string_view input, expected;
  };
  const Case cases[] = {
      {input_x(DataType::kFloat32, {-1, 2}),
       R"({"name":"x","datatype":"FP32","shape":[2,2],"data":[1,2.5,NaN,4]})",
       R"({"name":"x","datatype":"FP32","shape":[2,2],"data":[1.0,2.5,NaN,4.0]})"},
      {input_x(DataType::kFloat32, {-1, 2}),
       R"({"name":"x","datatype":"FP32","shape":[2,2],"data":[[1,2],[3,4]]})",
       R"({"name":"x","datatype":"FP32","shape":[2,2],"data":[1.0,2.0,3.0,4.0]})"},
      {input_x(DataType::kInt64, {-1}), R"({"name":"x","datatype":"INT64","shape":[3],"data":[1,-2,3]})",
       R"({"name":"x","datatype":"INT64","shape":[3],"data":[1,-2,3]})"},
      {input_x(DataType::kBool, {-1, -1}),
       R"({"name":"x","datatype":"BOOL","shape":[2,1],"data":[true,false]})",
       R"({"name":"x","datatype":"BOOL","shape":[2,1],"data":[true,false]})"},
      {input_x(DataType::kBytes, {-1, 2}),
       R"({"name":"x","datatype":"BYTES","shape":[2,2],"data":["a","","b\n","c"]})",
       R"({"name":"x","datatype":"BYTES","shape":[2,2],"data":["a","","b\n","c"]})"},
      {input_x(DataType::kBytes, {-1, 2}),
       R"({"name":"x","datatype":"BYTES","shape":[2,2],"data":[["a","b"],["c","d"]]})",
       R"({"name":"x","datatype":"BYTES","shape":[2,2],"data":["a","b","c","d"]})"},
      {input_x(DataType::kInt8, {-1, 0}), R"({"name":"x","datatype":"INT8","shape":[2,0],"data":[]})",
       R"({"name":"x","datatype":"INT8","shape":[2,0],"data":[]})"},
      {same_outputs({{"x", DataType::kFloat64, {}}}, false),
       R"({"name":"x","datatype":"FP64","shape":[],"data":[7]})",
       R"({"name":"x","datatype":"FP64","shape":[],"data":[7.0]})"},
      {same_outputs({{"x", DataType::kFloat64, {}}}, false),
       R"({"name":"x","datatype":"FP64","shape":[],"data":7})",
       R"({"name":"x","datatype":"FP64","shape":[],"data":[7.0]})"},
      {same_outputs({{"x", DataType::kUint16, {2, -1}}}, false),
       R"({"name":"x","datatype":"UINT16","shape":[2,1],"data":[1,2]})",
       R"({"name":"x","datatype":"UINT16","shape":[2,1],"data":[1,2]})"},
  };
  for (const auto& [signature, input, expected] : cases) {
    EXPECT_EQ(output_of(input, signature), expected) << input;
    EXPECT_EQ(output_of(input, signature, 1), expected) << input << ", in batches of one row";
  }
}

TEST(InferRequest, GivesBackItsIdAndTheOutputsThatItAsksFor) {
  const ServedSignature two = same_outputs({{"a", DataType::kInt8, {-1}}, {"b", DataType::kInt8, {-1}}});
  constexpr std::string_view kInputs = R"("inputs":[{"name":"b","datatype":"INT8","shape":[1],"data":[2]},)"
                                       R"({"name":"a","datatype":"INT8","shape":[1],"data":[1]}])";
  EXPECT_EQ(infer(concat(R"({"id":"\"7",)", kInputs, R"(,"outputs":[{"name":"b"}]})"), {}, two).answer.body,
            R"({"model_name":"m","model_version":"3","id":"\"7","outputs":[)"
            R"({"name":"b","datatype":"INT8","shape":[1],"data":[2]}]})");
  EXPECT_EQ(infer(concat('{', kInputs, R"(,"outputs":[]})"), {}, two).answer.body,
            R"({"model_name":"m","model_version":"3","outputs":[)"
            R"({"name":"a","datatype":"INT8","shape":[1],"data":[1]},)"
            R"({"name":"b","datatype":"INT8","shape":[1],"data":[2]}]})");
  EXPECT_THAT(infer(concat('{', kInputs, R"(,"outputs":[{"name":"c"}]})"), {}, two).error,
              HasSubstr("INVALID_ARGUMENT: the signature serving_default has no output c"));
  EXPECT_THAT(infer(concat('{', kInputs, R"(,"outputs":[{"name":"a"},{"name":"a"}]})"), {}, two).error,
              HasSubstr("the output a is requested twice"));
  const auto named =
      InferRequest::parse(concat(R"({"parameters":{"signature_name":"s"},)", kInputs, '}'), {});
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->signature_name(), "s");
}

TEST(InferRequest, TakesAndAnswersBinaryData) {
  const ServedSignature two =
      same_outputs({{"n", DataType::kFloat16, {-1, 2}}, {"t", DataType::kBytes, {-1}}});
  const std::string json =
      R"({"inputs":[)"
      R"({"name":"t","datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":11}},)"
      R"({"name":"n","datatype":"FP16","shape":[2,2],"parameters":{"binary_data_size":8}}],)"
      R"("parameters":{"binary_data_output":true}})";
  const std::string texts("\x03\0\0\0a\0\xff\0\0\0\0", 11);
  const std::string numbers = "01234567";
  const std::string expected =
      R"({"model_name":"m","model_version":"3","outputs":[)"
      R"({"name":"n","datatype":"FP16","shape":[2,2],"parameters":{"binary_data_size":8}},)"
      R"({"name":"t","datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":11}}]})";
  for (const std::uint64_t rows_max : {1, 64}) {
    const Answered got = infer(json + texts + numbers, json.size(), two, rows_max);
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.answer.header_bytes, expected.size());
    EXPECT_EQ(got.answer.body, expected + numbers + texts);
  }
}

TEST(InferRequest, ChoosesTheFormOfEachOutput) {
  const ServedSignature two = same_outputs({{"a", DataType::kUint8, {-1}}, {"b", DataType::kUint8, {-1}}});
  const auto body = [](std::string_view default_form, std::string_view a, std::string_view b) {
    return concat(R"({"inputs":[{"name":"a","datatype":"UINT8","shape":[1],"data":[65]},)",
                  R"({"name":"b","datatype":"UINT8","shape":[1],"data":[66]}],"parameters":{)", default_form,
                  R"(},"outputs":[{"name":"b")", b, R"(},{"name":"a")", a, "}]}");
  };
  constexpr std::string_view kYes = R"(,"parameters":{"binary_data":true})";
  constexpr std::string_view kNo = R"(,"parameters":{"binary_data":false})";
  const auto binary = [&](const std::string& request) {
    const Answered got = infer(request, std::nullopt, two);
    EXPECT_EQ(got.error, "");
    return got.answer.header_bytes ? got.answer.body.substr(*got.answer.header_bytes) : "none";
  };
  EXPECT_EQ(binary(body("", "", "")), "none");
  EXPECT_EQ(binary(body("", kYes, "")), "A");
  EXPECT_EQ(binary(body("", kYes, kYes)), "BA");
  EXPECT_EQ(binary(body(R"("binary_data_output":true)", "", "")), "BA");
  EXPECT_EQ(binary(body(R"("binary_data_output":true)", kNo, "")), "B");
  EXPECT_THAT(infer(body(R"("binary_data_output":1)", "", ""), {}, two).error,
              HasSubstr("neither true nor false"));
}

TEST(InferRequest, SaysWhatDoesNotFit) {
  const ServedSignature matrix = input_x(DataType::kFloat32, {-1, 2});
  const std::pair<std::string_view, std::string_view> inputs[] = {
      {R"({"datatype":"FP32"})", "input 0: \"name\" is missing"},
      {"7", "input 0: \"name\" is missing"},
      {R"({"name":"x"})", "the input x: \"datatype\" is missing"},
      {R"({"name":"x","datatype":"FP31"})", "the type FP31 is unknown"},
      {R"({"name":"x","datatype":"FP32"})", "\"shape\" is missing"},
      {R"({"name":"x","datatype":"FP32","shape":[1,-2]})", "\"shape\" has -2, which is not a size"},
      {R"({"name":"x","datatype":"FP32","shape":[1.0]})", "\"shape\" has 1.0, which is not a size"},
      {R"({"name":"x","datatype":"FP32","shape":[1,1,1,1,1,1,1,1,1]})", "\"shape\" has 9 sizes; at most 8"},
      {R"({"name":"x","datatype":"FP32","shape":[4294967296,4294967296],"data":[]})", "is too large"},
      {R"({"name":"x","datatype":"FP32","shape":[1048576],"data":[1]})", "has more elements than \"data\""},
      {R"({"name":"x","datatype":"FP32","shape":[1,2]})", "\"data\" is missing"},
      {R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[1]})",
       "\"data\" has 1 values, the shape [1, 2] has 2"},
      {R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2,3]})", "\"data\" has 3 values"},
      {R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[[1,2],[3,4]]})", "should have the size 1"},
      {R"({"name":"x","datatype":"FP32","shape":[2,2],"data":[[1,2],[3]]})",
       "a list of 1 at [1] should have the size 2"},
      {R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[1,"2"]})", "\"2\" at [1] is not a number"},
      {R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[[1,[2]]]})",
       "a list of 1 at [0][1] is not a number"},
      {R"({"name":"x","datatype":"FP32","shape":[1,2],"data":7})", "7 stands where a list should be"},
      {R"({"name":"x","datatype":"FP64","shape":[1,2],"data":[1,2]})",
       "is of type float64; the signature takes float32"},
      {R"({"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]})",
       "has the shape [1, 3]; the signature takes [?, 2]"},
      {R"({"name":"x","datatype":"FP32","shape":[0,2],"data":[]})", "the input x has no rows"},
      {R"({"name":"y","datatype":"FP32","shape":[1,2],"data":[1,2]})", "the input x is missing"},
      {R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]},)"
       R"({"name":"y","datatype":"INT8","shape":[1],"data":[1]})",
       "the input y is unknown; the signature serving_default takes x"},
      {R"({"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]},)"
       R"({"name":"x","datatype":"INT8","shape":[1],"data":[1]})",
       "the input x is given twice"},
      {R"({"name":"x","datatype":"BYTES","shape":[1],"data":[1]})", "1 at [0] is not a string"},
      {R"({"name":"x","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}})",
       "the body has 0 bytes of binary data left"},
      {R"({"name":"x","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":-1}})", "is not a size"},
      {"", "the request has no inputs"},
  };
  for (const auto& [input, expected] : inputs) {
    EXPECT_THAT(output_of(input, matrix), HasSubstr(expected)) << input;
    EXPECT_THAT(output_of(input, matrix), HasSubstr("<INVALID_ARGUMENT: ")) << input;
  }
  const std::pair<std::string_view, std::string_view> bodies[] = {
      {"{", "reading the request: the text is not JSON"},
      {"[]", "not an object with a list of \"inputs\""},
      {R"({"inputs":{}})", "not an object with a list of \"inputs\""},
      {R"({"id":7,"inputs":[]})", "\"id\" is missing, or not a string"},
      {R"({"inputs":[],"outputs":{}})", "\"outputs\" is not a list"},
      {R"({"inputs":[],"outputs":[{}]})", "\"name\" is missing"},
  };
  for (const auto& [body, expected] : bodies)
    EXPECT_THAT(infer(body, {}, matrix).error, HasSubstr(expected)) << body;

  const std::pair<std::string_view, std::string_view> unsupported[] = {
      {R"({"name":"x","datatype":"FP16","shape":[1],"data":[1]})", "send them as binary data"},
      {R"({"name":"x","datatype":"FP32","parameters":{"shared_memory_region":"r"}})", "shared_memory_region"},
  };
  for (const auto& [input, expected] : unsupported) {
    EXPECT_THAT(output_of(input, matrix), HasSubstr(expected));
    EXPECT_THAT(output_of(input, matrix), HasSubstr("<UNIMPLEMENTED: "));
  }
}

TEST(InferRequest, ChecksTheSizesOfBinaryData) {
  const auto body = [](std::string_view type, std::string_view shape, std::size_t size) {
    return concat(R"({"inputs":[{"name":"x","datatype":")", type, R"(","shape":)", shape,
                  R"(,"parameters":{"binary_data_size":)", size, "}}]}");
  };
  const auto error_of = [](const std::string& json, std::string_view binary, DataType type) {
    return infer(json + std::string(binary), json.size(), input_x(type, {-1})).error;
  };
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(error_of(body("FP32", "[1]", 3), "abc", DataType::kFloat32),
              HasSubstr("1 elements of 4 bytes"));
  EXPECT_THAT(error_of(body("FP32", "[1]", 8), "abcdabcd", DataType::kFloat32),
              HasSubstr("1 elements of 4 bytes"));
  EXPECT_THAT(error_of(body("FP32", "[1]", 4), "abcd!", DataType::kFloat32),
              HasSubstr("1 bytes that belong to no input"));
  EXPECT_THAT(error_of(body("FP32", "[1]", 5), "abcd", DataType::kFloat32),
              HasSubstr("the body has 4 bytes"));
  EXPECT_THAT(error_of(body("BYTES", "[1]", 3), "\1\0\0"sv, DataType::kBytes),
              HasSubstr("within the size of"));
  EXPECT_THAT(error_of(body("BYTES", "[1]", 5), "\2\0\0\0a"sv, DataType::kBytes),
              HasSubstr("within a byte string"));
  EXPECT_THAT(error_of(body("BYTES", "[2]", 5), "\1\0\0\0a"sv, DataType::kBytes),
              HasSubstr("has 1 byte strings, the shape 2"));
  EXPECT_THAT(error_of(body("BYTES", "[1]", 8), "\0\0\0\0\0\0\0\0"sv, DataType::kBytes),
              HasSubstr("more byte strings"));
  EXPECT_THAT(error_of(body("BOOL", "[2]", 2), "\1\2"sv, DataType::kBool),
              HasSubstr("byte 1 of the input x is not a boolean"));
  EXPECT_THAT(infer("{}", 3, input_x(DataType::kBool, {-1})).error,
              HasSubstr("is 3, but the body has 2 bytes"));
}

TEST(InferAnswer, RefusesWhatTheFormCannotCarry) {
  const std::string json =
      R"({"inputs":[{"name":"x","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]})";
  EXPECT_THAT(
      infer(json + std::string("\1\0\0\0\xff", 5), json.size(), input_x(DataType::kBytes, {-1})).error,
      HasSubstr("FAILED_PRECONDITION: a byte string of the output x is not UTF-8"));
  const std::string half =
      R"({"inputs":[{"name":"x","datatype":"FP16","shape":[1],"parameters":{"binary_data_size":2}}]})";
  EXPECT_THAT(infer(half + "ab", half.size(), input_x(DataType::kFloat16, {-1})).error,
              HasSubstr("UNIMPLEMENTED"));
}

// Binary and JSON carry the same tensors: what goes in as one comes out as the other, and back.
TEST(InferRequest, CarriesRandomTensorsInBothForms) {
  std::mt19937_64 random(11);
  const DataType types[] = {DataType::kInt8, DataType::kUint16, DataType::kInt32, DataType::kInt64,
                            DataType::kUint64};
  for (int round = 0; round < 200; ++round) {
    const DataType type = types[random() % std::size(types)];
    const std::size_t rows = 1 + random() % 5;
    const std::size_t width = random() % 4;
    std::string data(rows * width * data_type_size_bytes(type), '\0');
    for (char& byte : data) byte = static_cast<char>(random());
    const ServedSignature signature = input_x(type, {-1, -1});
    const std::string head = concat(R"({"inputs":[{"name":"x","datatype":")", infer_type_name(type),
                                    R"(","shape":[)", rows, ',', width, ']');
    const std::string json = concat(head, R"(,"parameters":{"binary_data_size":)", data.size(), "}}]}");
    const Answered as_json = infer(json + data, json.size(), signature, 1 + random() % 3);
    ASSERT_EQ(as_json.error, "");
    const std::size_t begin = as_json.answer.body.find(R"(,"data":)");
    const std::string values = as_json.answer.body.substr(begin, as_json.answer.body.size() - begin - 3);
    const Answered as_binary = infer(concat(head, values, R"(}],"parameters":{"binary_data_output":true}})"),
                                     {}, signature, 1 + random() % 3);
    ASSERT_EQ(as_binary.error, "");
    EXPECT_EQ(as_binary.answer.body.substr(*as_binary.answer.header_bytes), data) << values;
  }
}

}  // namespace
}  // namespace headrace

#include "headrace/serve/protocol/rest_v1_request.h"

#include <gmock/gmock.h>

#include <random>

#include "headrace/base/text.h"
#include "headrace/serve/protocol/echo_test.h"
#include "headrace/serve/protocol/json_writer.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// A signature whose outputs are its inputs.
ServedSignature echo_signature(std::vector<ServedTensor> tensors, bool is_batched = true) {
  return {.name = "serving_default", .inputs = tensors, .outputs = tensors, .is_batched = is_batched};
}

ServedSignature one_input(DataType type, const Shape& shape) { return echo_signature({{"x", type, shape}}); }

std::string in_brackets(const Error& error) {
  return concat('<', code_name(error.code), ": ", error.message, '>');
}

// The body of the answer, or the error.
std::string answer_to(std::string_view body, const ServedSignature& signature, std::uint64_t rows_max = 64) {
  const auto request = RestRequest::parse(body);
  if (!request) return in_brackets(request.error());
  const auto bound = request->bind(signature);
  if (!bound) return in_brackets(bound.error());
  const auto answers = run_request(**bound, rows_max);
  if (!answers) return in_brackets(answers.error());
  const auto out = rest_answer(*answers, signature, request->form());
  return out ? *out : in_brackets(out.error());
}

TEST(RestRequest, ReadsTheSignatureAndTheForm) {
  const auto row = RestRequest::parse(R"({"signature_name":"s","instances":[1],"other":{}})");
  ASSERT_TRUE(row) << row.error().message;
  EXPECT_EQ(row->signature_name(), "s");
  EXPECT_EQ(row->form(), RestForm::kRow);
  const auto column = RestRequest::parse(R"({"signature_name":"","inputs":1})");
  ASSERT_TRUE(column) << column.error().message;
  EXPECT_EQ(column->signature_name(), kDefaultSignature);
  EXPECT_EQ(column->form(), RestForm::kColumn);
}

TEST(RestRequest, RefusesOtherBodies) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "reading the request: the text is empty"},
      {"{", "reading the request: the text is not JSON"},
      {"[1]", "the request is a list of 1, not an object"},
      {"7", "the request is 7, not an object"},
      {"{}", R"(the request lacks "instances")"},
      {R"({"instances":[1],"inputs":[1]})", R"("instances" and "inputs")"},
      {R"({"instances":[]})", R"("instances" is a list of 0, not a list of rows)"},
      {R"({"instances":{"x":1}})", R"("instances" is an object, not a list of rows)"},
      {R"({"instances":[1],"signature_name":1})", R"("signature_name" is not a string)"},
  };
  for (const auto& [body, expected] : cases) {
    const auto request = RestRequest::parse(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, Code::kInvalidArgument);
    EXPECT_THAT(request.error().message, HasSubstr(expected)) << body;
  }
}

TEST(RestRequest, AnswersInTheFormOfTheRequest) {
  struct Case {
    ServedSignature signature;
    std::string_view body, expected;
  };
  const ServedSignature two =
      echo_signature({{"a", DataType::kFloat32, {-1, 2}}, {"b", DataType::kInt64, {-1}}});
  const Case cases[] = {
      {one_input(DataType::kFloat32, {-1}), R"({"instances":[1,2.5,-3e-5]})",
       R"({"predictions":[1.0,2.5,-3e-05]})"},
      {one_input(DataType::kFloat32, {-1}), R"({"instances":[NaN,-Infinity]})",
       R"({"predictions":[NaN,-Infinity]})"},
      {one_input(DataType::kFloat32, {-1, 2}), R"({"instances":[[1,2],[3,4]]})",
       R"({"predictions":[[1.0,2.0],[3.0,4.0]]})"},
      {one_input(DataType::kFloat32, {-1, 2}), R"({"instances":[{"x":[1,2]},[3,4]]})",
       R"({"predictions":[[1.0,2.0],[3.0,4.0]]})"},
      {one_input(DataType::kFloat64, {-1, -1, 1}), R"({"inputs":[[[1],[0.1]],[[2],[3]]]})",
       R"({"outputs":[[[1.0],[0.1]],[[2.0],[3.0]]]})"},
      {one_input(DataType::kInt32, {-1, -1}), R"({"instances":[[],[]]})", R"({"predictions":[[],[]]})"},
      {one_input(DataType::kInt32, {-1, -1, 2}), R"({"instances":[[]]})", R"({"predictions":[[]]})"},
      {one_input(DataType::kBool, {-1}), R"({"inputs":{"x":[true,false]}})", R"({"outputs":[true,false]})"},
      {one_input(DataType::kInt64, {-1}), R"({"inputs":[-9223372036854775808]} trailing)",
       R"({"outputs":[-9223372036854775808]})"},
      {one_input(DataType::kUint64, {-1}), R"({"inputs":[18446744073709551615]})",
       R"({"outputs":[18446744073709551615]})"},
      {one_input(DataType::kBytes, {-1}),
       R"({"instances":["a\"\n",{"b64":"YWI="},{"x":{"b64":""}},{"b64":"/w=="}]})",
       R"({"predictions":["a\"\n","ab","",{"b64":"/w=="}]})"},
      {echo_signature({{"x_bytes", DataType::kBytes, {-1, 1}}}), R"({"instances":[["ab"]]})",
       R"({"predictions":[[{"b64":"YWI="}]]})"},
      {echo_signature({{"x_bytes", DataType::kInt32, {-1}}}), R"({"instances":[1]})",
       R"({"predictions":[1]})"},
      {two, R"({"instances":[{"b":1,"a":[1,2]},{"a":[3,4],"b":2}]})",
       R"({"predictions":[{"a":[1.0,2.0],"b":1},{"a":[3.0,4.0],"b":2}]})"},
      {two, R"({"inputs":{"b":[1,2],"a":[[1,2],[3,4]],"c":0}})",
       R"({"outputs":{"a":[[1.0,2.0],[3.0,4.0]],"b":[1,2]}})"},
      {echo_signature({{"x", DataType::kFloat32, {2, -1}}}, false), R"({"inputs":[[1],[2]]})",
       R"({"outputs":[[1.0],[2.0]]})"},
      {echo_signature({{"x", DataType::kBytes, {}}}, false), R"({"inputs":{"b64":"YWI="}})",
       R"({"outputs":"ab"})"},
      {echo_signature({{"x", DataType::kInt8, {}}, {"y", DataType::kUint8, {}}}, false),
       R"({"inputs":{"x":-1,"y":255}})", R"({"outputs":{"x":-1,"y":255}})"},
  };
  for (const auto& [signature, body, expected] : cases) {
    EXPECT_EQ(answer_to(body, signature), expected) << body;
    EXPECT_EQ(answer_to(body, signature, 1), expected) << body << ", in batches of one row";
  }
}

TEST(RestRequest, SaysWhatDoesNotFit) {
  struct Case {
    ServedSignature signature;
    std::string_view body, expected;
  };
  const ServedSignature matrix = one_input(DataType::kFloat32, {-1, 2});
  const ServedSignature open = one_input(DataType::kFloat32, {-1, -1});
  const ServedSignature text = one_input(DataType::kBytes, {-1, -1});
  const ServedSignature two = echo_signature({{"a", DataType::kInt32, {-1}}, {"b", DataType::kInt32, {-1}}});
  const Case cases[] = {
      {matrix, R"({"instances":[1]})",
       "instance 0, input x: 1 stands where a list should be: the shape is [2]"},
      {matrix, R"({"instances":[[1,2,3]]})", "instance 0, input x: a list of 3 should have the size 2"},
      {matrix, R"({"instances":[[1,2],[3]]})", "instance 1, input x: a list of 1 should have the size 2"},
      {matrix, R"({"instances":[[1,2],[3,"4"]]})",
       R"(instance 1, input x: "4" at [1] is not a number that float32 can hold)"},
      {matrix, R"({"instances":[[1,16777216]]})", "write integers from 2^24 on with .0"},
      {matrix, R"({"instances":[[[1],[2]]]})",
       "instance 0, input x: a list of 1 at [0] stands where a value"},
      {matrix, R"({"instances":[[1,[2]]]})", "instance 0, input x: a list of 1 at [1] is not a number"},
      {matrix, R"({"instances":[null]})", "instance 0, input x: null stands where a list should be"},
      {matrix, R"({"instances":[{"y":[1,2]}]})", "instance 0: the input y is unknown"},
      {matrix, R"({"instances":[{}]})", "instance 0: the input x is missing"},
      {matrix, R"({"instances":[{"x":[1,2],"x":[1,2]}]})", "instance 0: the input x is given twice"},
      {matrix, R"({"inputs":{"y":[[1,2]]}})", "the input x is missing in \"inputs\""},
      {matrix, R"({"inputs":[]})", "the input x is a list of 0, not a list of rows"},
      {matrix, R"({"inputs":7})", "the input x is 7, not a list of rows"},
      {matrix, R"({"inputs":[[1,2],[1,true]]})", "row 1, input x: true at [1] is not a number"},
      {open, R"({"instances":[[1,2],[3]]})", "instance 1, input x: a list of 1 should have the size 2"},
      {open, R"({"instances":[[1],{"b64":""}]})",
       "instance 1, input x: a base64 object stands where a list of 1"},
      {one_input(DataType::kFloat32, {-1, -1, -1}), R"({"inputs":[[[1,2,3,4,5,6,7,8],0,0,0,0,0,0,0]]})",
       "lists of the input x have different sizes: the first are [8, 8]"},
      {text, R"({"instances":[["a",7]]})", "instance 0, input x: 7 at [1] is not a byte string"},
      {text, R"({"instances":[["a",{"b64":"YWI"}]]})", "the base64 of the byte string [1] is damaged"},
      {text, R"({"instances":[["a",{"b64":"\n \t"}]]})", "the base64 of the byte string [1] is damaged"},
      {text, R"({"instances":[["a",{"b64":7}]]})", "an object at [1] is not a byte string"},
      {text, R"({"instances":[["a",{"b64":"","c":""}]]})", "an object at [1] is not a byte string"},
      {one_input(DataType::kInt32, {-1}), R"({"instances":[1.0]})",
       "instance 0, input x: 1.0 is not an integer in the range of the type int32"},
      {one_input(DataType::kInt8, {-1}), R"({"instances":[1,128]})",
       "instance 1, input x: 128 is not an integer"},
      {one_input(DataType::kBool, {-1}), R"({"instances":[1]})", "1 is neither true nor false"},
      {two, R"({"instances":[1]})", "instance 0: a value without a name is possible for one input only"},
      {two, R"({"instances":[{"a":1}]})",
       "instance 0: the input b is missing; the signature serving_default takes a, b"},
      {two, R"({"inputs":[1]})",
       "a value without a name is possible for one input only: send an object with a, b"},
      {two, R"({"inputs":{"a":[1,2],"b":[1]}})", "the input b has 1 rows, a has 2: all need the same number"},
      {echo_signature({{"x", DataType::kInt32, {2}}}, false), R"({"instances":[[1,2]]})",
       R"(takes no "instances": send "inputs")"},
      {echo_signature({{"x", DataType::kInt32, {2}}}, false), R"({"inputs":[1,2.5]})", "input x: 2.5 at [1]"},
  };
  for (const auto& [signature, body, expected] : cases) {
    const std::string answer = answer_to(body, signature);
    EXPECT_THAT(answer, HasSubstr(expected)) << body;
    EXPECT_THAT(answer, HasSubstr("<INVALID_ARGUMENT: ")) << body;
  }
  EXPECT_THAT(answer_to(R"({"instances":[1]})", one_input(DataType::kFloat16, {-1})),
              HasSubstr("<UNIMPLEMENTED: the input x is of type float16"));
}

TEST(RestAnswer, IsTheErrorOfARowThatFailed) {
  const ServedSignature signature = one_input(DataType::kInt32, {-1});
  const auto request = RestRequest::parse(R"({"instances":[1,2,3,4]})");
  const auto bound = request->bind(signature);
  const auto failing = [](std::vector<TensorView> inputs, std::shared_ptr<const void> owner) {
    BatchOutputs out = echo_inputs(std::move(inputs), std::move(owner));
    out.failed_rows[1] = {Code::kInvalidArgument, "no image"};
    return out;
  };
  const auto answers = run_request(**bound, 2, failing);
  ASSERT_TRUE(answers);
  const auto body = rest_answer(*answers, signature, RestForm::kRow);
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().message, "instance 1: no image");

  const auto second = [calls = 0](std::vector<TensorView> inputs, std::shared_ptr<const void> owner) mutable {
    BatchOutputs out = echo_inputs(std::move(inputs), std::move(owner));
    if (++calls == 2) out.failed_rows[0] = {Code::kInvalidArgument, "no image"};
    return out;
  };
  const auto later = rest_answer(*run_request(**bound, 2, second), signature, RestForm::kColumn);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().message, "row 2: no image");
}

TEST(RestAnswer, RefusesAnswersOfAnotherSignature) {
  const ServedSignature signature = one_input(DataType::kInt32, {-1});
  const auto request = RestRequest::parse(R"({"instances":[1,2]})");
  const auto bound = request->bind(signature);
  const auto code_of = [&](EchoModel model, const ServedSignature& answered) {
    const auto answers = run_request(**bound, 2, std::move(model));
    if (!answers) return in_brackets(answers.error());
    const auto body = rest_answer(*answers, answered, RestForm::kRow);
    return body ? std::string("none") : in_brackets(body.error());
  };
  EXPECT_THAT(code_of(echo_inputs, one_input(DataType::kFloat32, {-1})), HasSubstr("INTERNAL"));
  EXPECT_THAT(code_of(echo_inputs, echo_signature({})), HasSubstr("INTERNAL"));
  const auto fewer_rows = [](std::vector<TensorView> inputs, std::shared_ptr<const void> owner) {
    inputs[0].shape = {1};
    return echo_inputs(std::move(inputs), std::move(owner));
  };
  EXPECT_THAT(code_of(fewer_rows, signature), HasSubstr("INTERNAL"));
  ServedSignature half = signature;
  half.outputs[0].type = DataType::kFloat16;
  const auto as_half = [](std::vector<TensorView> inputs, std::shared_ptr<const void> owner) {
    inputs[0].type = DataType::kFloat16;
    return echo_inputs(std::move(inputs), std::move(owner));
  };
  EXPECT_THAT(code_of(as_half, half), HasSubstr("UNIMPLEMENTED"));
}

TEST(RestAnswer, JoinsBatchesOfDifferentShapesInRowFormOnly) {
  const ServedSignature signature = one_input(DataType::kInt32, {-1, -1});
  const auto request = RestRequest::parse(R"({"instances":[[1,2],[3,4]]})");
  const auto bound = request->bind(signature);
  const auto narrowing = [calls = 0](std::vector<TensorView> inputs,
                                     std::shared_ptr<const void> owner) mutable {
    if (++calls == 2) inputs[0].shape = {1, 1};
    return echo_inputs(std::move(inputs), std::move(owner));
  };
  const auto answers = run_request(**bound, 1, narrowing);
  EXPECT_EQ(*rest_answer(*answers, signature, RestForm::kRow), R"({"predictions":[[1,2],[3]]})");
  const auto column = rest_answer(*answers, signature, RestForm::kColumn);
  ASSERT_FALSE(column);
  EXPECT_EQ(column.error().code, Code::kFailedPrecondition);
}

// Random tensors, written by the test, come back byte for byte: the writer is what the test writes with.
TEST(RestRequest, GivesBackRandomTensors) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto rows = static_cast<std::int64_t>(1 + random() % 5);
    const auto width = static_cast<std::int64_t>(random() % 4);
    const auto depth = static_cast<std::int64_t>(1 + random() % 3);
    const auto count = static_cast<std::size_t>(rows * width * depth);
    std::vector<std::uint64_t> bits(count);
    for (auto& each : bits) each = random() >> (random() % 64);
    const DataType types[] = {DataType::kFloat32, DataType::kFloat64, DataType::kInt64, DataType::kUint64,
                              DataType::kInt32,   DataType::kUint8,   DataType::kInt16, DataType::kUint32};
    const DataType type = types[random() % std::size(types)];
    Bytes data;
    for (const std::uint64_t each : bits) {
      const BytesView bytes = std::as_bytes(std::span(&each, 1));
      append(data, bytes.first(data_type_size_bytes(type)));
    }
    const Shape shape{rows, width, depth};
    std::string lists;
    ASSERT_TRUE(append_json_tensor(lists, {type, shape, data.data()}, 0, shape, JsonBytesForm::kText));
    const ServedSignature signature = one_input(type, {-1, random() % 2 == 0 ? -1 : width, depth});
    const std::string instances = concat("{\"instances\":", lists, '}');
    if (width == 0) continue;
    EXPECT_EQ(answer_to(instances, signature, 1 + random() % 4), concat("{\"predictions\":", lists, '}'));
    EXPECT_EQ(answer_to(concat("{\"inputs\":", lists, '}'), signature, 1 + random() % 4),
              concat("{\"outputs\":", lists, '}'));
  }
}

}  // namespace
}  // namespace headrace

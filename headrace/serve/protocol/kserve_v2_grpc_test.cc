#include "headrace/serve/protocol/kserve_v2_grpc.h"

#include <gmock/gmock.h>

#include "headrace/serve/protocol/echo_test.h"
#include "headrace/serve/protocol/wire_literal_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Made by tritonclient's classes.
constexpr std::string_view kRaw =
    "0a016d1201331a013722150a0e7369676e61747572655f6e616d6512031a01732a0d0a01781204465033321a02020232030a0178"
    "3a10"
    "0000803f000000400000404000008040";
constexpr std::string_view kContents =
    "0a016d2a190a01611204465033321a0202012a0a32080000003f000080bf2a150a0162120542595445531a01022a064202ff0042"
    "00";

ServedSignature mirror_of(std::vector<ServedTensor> tensors) {
  return {.name = "serving_default", .inputs = tensors, .outputs = tensors, .is_batched = true};
}

// The answer of a model whose outputs are its inputs, in hexadecimal; or the error.
std::string mirrored(std::string_view message, const ServedSignature& signature,
                     std::uint64_t rows_max = 64) {
  const Bytes bytes = from_hexadecimal(message);
  const auto request = InferMessage::parse(bytes);
  if (!request) return error_text(request.error());
  const auto bound = request->bind(signature);
  if (!bound) return error_text(bound.error());
  const auto answers = run_request(**bound, rows_max);
  if (!answers) return error_text(answers.error());
  const auto answer = infer_response(*answers, signature, *request, "m", 3);
  return answer ? to_hexadecimal(*answer) : error_text(answer.error());
}

TEST(InferMessage, ReadsWhatTheRequestNames) {
  const Bytes raw = from_hexadecimal(kRaw);
  const auto request = InferMessage::parse(raw);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->model(), (RequestedModel{.name = "m", .version = 3}));
  EXPECT_EQ(request->signature_name(), "s");
  EXPECT_EQ(request->id(), "7");
  EXPECT_THAT(request->outputs(), testing::ElementsAre("x"));
  EXPECT_FALSE(request->has_contents());
}

TEST(InferMessage, AnswersRawBytesWithRawBytes) {
  const ServedSignature signature = mirror_of({{"x", DataType::kFloat32, {-1, 2}}});
  const std::string_view answer =
      "0a016d1201331a01372a0d0a01781204465033321a02020232100000803f000000400000404000008040";
  EXPECT_EQ(mirrored(kRaw, signature), answer);
  EXPECT_EQ(mirrored(kRaw, signature, 1), answer);
}

TEST(InferMessage, AnswersContentsWithContents) {
  const ServedSignature signature =
      mirror_of({{"a", DataType::kFloat32, {-1, -1}}, {"b", DataType::kBytes, {-1}}});
  EXPECT_EQ(
      mirrored(kContents, signature),
      "0a016d1201332a190a01611204465033321a0202012a0a32080000003f000080bf2a150a0162120542595445531a01022a06"
      "4202ff004200");
}

TEST(InferMessage, TakesAndAnswersEveryTypeOfContents) {
  struct Case {
    DataType type;
    std::string_view tensor;
  };
  const Case cases[] = {
      {DataType::kBool, "0a01781204424f4f4c1a01022a040a020100"},
      {DataType::kInt8, "0a01781204494e54381a01022a0d120b80ffffffffffffffff017f"},
      {DataType::kInt16, "0a01781205494e5431361a01022a0d120b8080feffffffffffff0107"},
      {DataType::kInt32, "0a01781205494e5433321a01022a0d120bffffffffffffffffff0105"},
      {DataType::kInt64, "0a01781205494e5436341a01022a0d1a0bffffffffffffffffff0105"},
      {DataType::kUint8, "0a0178120555494e54381a01022a05220300ff01"},
      {DataType::kUint16, "0a0178120655494e5431361a01022a06220400ffff03"},
      {DataType::kUint32, "0a0178120655494e5433321a01022a08220600ffffffff0f"},
      {DataType::kUint64, "0a0178120655494e5436341a01022a0d2a0b00ffffffffffffffffff01"},
      {DataType::kFloat32, "0a01781204465033321a01022a0a32080000003f0000803f"},
      {DataType::kFloat64, "0a01781204465036341a01022a123a10000000000000e03f000000000000f03f"},
      {DataType::kBytes, "0a0178120542595445531a01022a054201614200"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(mirrored("0a016d" + wire_field(5, each.tensor), mirror_of({{"x", each.type, {-1}}})),
              "0a016d120133" + wire_field(5, each.tensor))
        << data_type_name(each.type);
}

TEST(InferMessage, TakesHalfFloatsAndByteStringsAsRawBytes) {
  const std::string half = wire_field(5, "0a01781204465031361a0102");
  EXPECT_EQ(
      mirrored("0a016d" + half + wire_field(7, "003c00c0"), mirror_of({{"x", DataType::kFloat16, {-1}}})),
      "0a016d120133" + half + wire_field(6, "003c00c0"));
  const std::string texts = wire_field(5, "0a0178120542595445531a0102");
  EXPECT_EQ(mirrored("0a016d" + texts + wire_field(7, "01000000ff00000000"),
                     mirror_of({{"x", DataType::kBytes, {-1}}})),
            "0a016d120133" + texts + wire_field(6, "01000000ff00000000"));
}

TEST(InferMessage, OutputsWithoutContentsMakeTheAnswerRaw) {
  ServedSignature signature = mirror_of({{"x", DataType::kInt16, {-1}}});
  signature.outputs[0].type = DataType::kFloat16;
  const Bytes message = from_hexadecimal("0a016d" + wire_field(5,
                                                               "0a01781205494e5431361a01012a04120280"
                                                               "78"));
  const auto request = InferMessage::parse(message);
  ASSERT_TRUE(request) << request.error().message;
  const auto bound = request->bind(signature);
  ASSERT_TRUE(bound) << bound.error().message;
  const auto as_half = [](std::vector<TensorView> inputs, std::shared_ptr<const void> owner) {
    inputs[0].type = DataType::kFloat16;
    return BatchOutputs{std::move(inputs), std::move(owner)};
  };
  const auto answers = run_request(**bound, 64, as_half);
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ(to_hexadecimal(*infer_response(*answers, signature, *request, "m", 3)),
            "0a016d120133" + wire_field(5, "0a01781204465031361a0101") + wire_field(6, "003c"));
}

TEST(InferMessage, SaysWhyARequestIsRefused) {
  struct Case {
    std::string message;
    std::string_view reason;
  };
  const std::string tensor = "0a01781204465033321a0101";
  const auto with = [&](std::string_view more) { return "0a016d" + wire_field(5, concat(tensor, more)); };
  const Case cases[] = {
      {"", "<INVALID_ARGUMENT: the request has no model_name"},
      {"0a", "the request is not a well-formed message"},
      {"0a016d", "the request has no inputs"},
      {with(""), "the contents have 0 values of this type, the shape [1] has 1"},
      {with("2a06"
            "3204"
            "0000803f") +
           wire_field(7, "0000803f"),
       "both contents and raw_input_contents"},
      {with("") + wire_field(7, "0000803f") + wire_field(7, ""), "1 inputs, but 2 raw_input_contents"},
      {with("") + wire_field(7, "000080"), "raw_input_contents has 3 bytes"},
      {with("2a06"
            "1204"
            "01020304"),
       "the contents have 0 values of this type"},
      {with("2a06"
            "3205"
            "0000803f"),
       "not a well-formed message"},
      {with("2200"
            "2201"),
       "not a well-formed message"},
      {with("1a8001" + std::string(256, '0')), "more than 8 dimensions"},
      {"0a016d" + wire_field(5, "0a017812025a5a"), "the type ZZ is unknown"},
      {"0a016d" + wire_field(5,
                             "0a01781204465031361a0101"
                             "2a00"),
       "<UNIMPLEMENTED: the input x: values of the type FP16 have no contents"},
      {"0a016d" +
           wire_field(5, "0a0178" + wire_field(4, "0a14" + to_hexadecimal(as_bytes("shared_memory_region")))),
       "<UNIMPLEMENTED: input 0: this server does not support the extension of the parameter "
       "shared_memory_region"},
      {std::string(kRaw) + wire_field(6, "0a0178"), "the output x is requested twice"},
      {std::string(kRaw) + wire_field(6, "0a017a"), "has no output z"},
      {"0a016d12143939393939393939393939393939393939393939", "<INVALID_ARGUMENT"},
  };
  const ServedSignature signature = mirror_of({{"x", DataType::kFloat32, {-1, 2}}});
  for (const Case& each : cases)
    EXPECT_THAT(mirrored(each.message, signature), HasSubstr(each.reason)) << each.message;
}

TEST(InferMessage, TruncatedRequestsAreRefusedOrShorter) {
  const ServedSignature signature = mirror_of({{"x", DataType::kFloat32, {-1, 2}}});
  for (std::size_t size = 0; size < kRaw.size(); size += 2)
    EXPECT_THAT(mirrored(kRaw.substr(0, size), signature), StartsWith("<INVALID_ARGUMENT")) << size;
}

TEST(InferMessages, MetadataAndHealth) {
  EXPECT_EQ(*parse_model_request(from_hexadecimal("0a016d120663616e617279")),
            (RequestedModel{.name = "m", .label = "canary"}));
  EXPECT_EQ(*parse_model_request(from_hexadecimal("0a016d120133")),
            (RequestedModel{.name = "m", .version = 3}));
  EXPECT_FALSE(parse_model_request({}));
  EXPECT_EQ(to_hexadecimal(boolean_response(true)), "0801");
  EXPECT_EQ(to_hexadecimal(boolean_response(false)), "");
  EXPECT_EQ(to_hexadecimal(server_metadata_response("1")), "0a086865616472616365120131");
  const ServedModel model{{{.name = "serving_default",
                            .inputs = {{"x", DataType::kFloat32, {-1, 2}}},
                            .outputs = {{"y", DataType::kBytes, {-1}}},
                            .is_batched = true}}};
  EXPECT_EQ(
      to_hexadecimal(model_metadata_response("m", {3, 4}, model)),
      "0a016d1201331201341a1574656e736f72666c6f775f73617665646d6f64656c22160a01781204465033321a0bffffffffff"
      "ffffffff01022a160a0179120542595445531a0affffffffffffffffff01");
}

}  // namespace
}  // namespace headrace

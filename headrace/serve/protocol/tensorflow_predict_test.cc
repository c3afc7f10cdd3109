#include "headrace/serve/protocol/tensorflow_predict.h"

#include <gmock/gmock.h>

#include "headrace/serve/protocol/echo_test.h"
#include "headrace/serve/protocol/grpc_service.h"
#include "headrace/serve/protocol/tensor_message.h"
#include "headrace/serve/protocol/wire_literal_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Made by tensorflow_serving.apis and tf.make_tensor_proto.
constexpr std::string_view kFloats =
    "0a0a0a016d120208071a017312230a0178121e0801120812020802120208022a100000803f000020400000c07f000080c01a017"
    "8";
constexpr std::string_view kContent =
    "0a0b0a016d220663616e61727912230a0178121e08011208120208021202080222100000803f0000004000004040000080"
    "40";
constexpr std::string_view kMixed =
    "0a030a016d121b0a016112160801120812020802120208012a080000003f000080bf12130a0162120e08071204120208024202ff"
    "004200";

constexpr std::uint64_t kRepeatedBytes = 1 << 16;

ServedSignature echo_of(std::vector<ServedTensor> tensors, bool is_batched = true) {
  return {.name = "serving_default", .inputs = tensors, .outputs = tensors, .is_batched = is_batched};
}

ServedSignature echo_x(DataType type, const Shape& shape) { return echo_of({{"x", type, shape}}); }

// The answer of a model whose outputs are its inputs, in hexadecimal; or the error.
std::string echoed(const Bytes& message, const ServedSignature& signature, std::uint64_t rows_max = 64) {
  const auto request = PredictRequest::parse(message, kRepeatedBytes);
  if (!request) return error_text(request.error());
  const auto bound = request->bind(signature);
  if (!bound) return error_text(bound.error());
  const auto answers = run_request(**bound, rows_max);
  if (!answers) return error_text(answers.error());
  const auto answer = predict_response(*answers, signature, *request, "m", 3);
  return answer ? to_hexadecimal(*answer) : error_text(answer.error());
}

// A request for the model m with the one input x, a tensor in hexadecimal.
Bytes request_for(std::string_view tensor) {
  return from_hexadecimal("0a030a016d" + wire_field(2, "0a0178" + wire_field(2, tensor)));
}

// The tensor x of an answer; or the error.
std::string echoed_tensor(std::string_view tensor, const ServedSignature& signature) {
  const std::string answer = echoed(request_for(tensor), signature);
  if (answer.starts_with('<')) return answer;
  const Bytes bytes = from_hexadecimal(answer);
  WireReader message(bytes);
  for (WireField field; message.next(field);) {
    if (field.number != 1) continue;
    WireReader entry(field.bytes);
    for (WireField part; entry.next(part);) {
      if (part.number == 2) return to_hexadecimal(part.bytes);
    }
  }
  return "no output";
}

TEST(Predict, ReadsWhatTheRequestNames) {
  const Bytes floats = from_hexadecimal(kFloats);
  const auto request = PredictRequest::parse(floats, 0);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->model(), (RequestedModel{.name = "m", .version = 7}));
  EXPECT_EQ(request->signature_name(), "s");
  EXPECT_THAT(request->outputs(), testing::ElementsAre("x"));
  EXPECT_FALSE(request->has_content());

  const Bytes content = from_hexadecimal(kContent);
  const auto labelled = PredictRequest::parse(content, 0);
  ASSERT_TRUE(labelled) << labelled.error().message;
  EXPECT_EQ(labelled->model(), (RequestedModel{.name = "m", .label = "canary"}));
  EXPECT_EQ(labelled->signature_name(), kDefaultSignature);
  EXPECT_TRUE(labelled->has_content());
}

TEST(Predict, TheLastOfVersionAndLabelCounts) {
  const Bytes label = from_hexadecimal(wire_field(1, "0a016d12020807220163"));
  EXPECT_EQ(PredictRequest::parse(label, 0)->model(), (RequestedModel{.name = "m", .label = "c"}));
  const Bytes version = from_hexadecimal(wire_field(1, "0a016d22016312020807"));
  EXPECT_EQ(PredictRequest::parse(version, 0)->model(), (RequestedModel{.name = "m", .version = 7}));
}

TEST(Predict, AnswersWithValuesAndWithContentAsTheClientDid) {
  const ServedSignature signature = echo_x(DataType::kFloat32, {-1, 2});
  EXPECT_EQ(
      echoed(from_hexadecimal(kFloats), signature),
      "0a230a0178121e0801120812020802120208022a100000803f000020400000c07f000080c012180a016d120208031a0f7365"
      "7276696e675f64656661756c74");
  EXPECT_EQ(
      echoed(from_hexadecimal(kContent), signature),
      "0a230a0178121e08011208120208021202080222100000803f00000040000040400000804012180a016d120208031a0f7365"
      "7276696e675f64656661756c74");
}

TEST(Predict, RowsOfSeveralBatchesAreOneAnswer) {
  const ServedSignature signature = echo_x(DataType::kFloat32, {-1, 2});
  for (const std::string_view request : {kFloats, kContent})
    EXPECT_EQ(echoed(from_hexadecimal(request), signature, 1), echoed(from_hexadecimal(request), signature));
}

TEST(Predict, TakesSeveralInputsAndByteStrings) {
  const ServedSignature signature =
      echo_of({{"a", DataType::kFloat32, {-1, -1}}, {"b", DataType::kBytes, {-1}}});
  EXPECT_THAT(
      echoed(from_hexadecimal(kMixed), signature),
      StartsWith("0a1b0a016112160801120812020802120208012a080000003f000080bf0a130a0162120e080712041202080"
                 "24202ff004200"));
  const Bytes only_b = from_hexadecimal(std::string(kMixed) + wire_field(3, "62"));
  EXPECT_THAT(echoed(only_b, signature), StartsWith("0a130a0162"));
}

TEST(Predict, TakesAndAnswersEveryType) {
  struct Case {
    DataType type;
    std::string_view tensor;
  };
  const Case cases[] = {
      {DataType::kFloat16, "08131204120208026a058078808003"},
      {DataType::kBfloat16, "080e1204120208026a05807fffff03"},
      {DataType::kFloat64, "08021204120208023210000000000000f83f00000000000000c0"},
      {DataType::kInt32, "08031204120208023a0fffffffffffffffffff01ffffffff07"},
      {DataType::kInt16, "08051204120208023a0d8080feffffffffffff01ffff01"},
      {DataType::kInt8, "08061204120208023a0b80ffffffffffffffff017f"},
      {DataType::kUint8, "08041204120208023a0300ff01"},
      {DataType::kUint16, "08111204120208023a0400ffff03"},
      {DataType::kInt64, "0809120412020802521380808080808080808001ffffffffffffffff7f"},
      {DataType::kUint32, "081612041202080282010600ffffffff0f"},
      {DataType::kUint64, "08171204120208028a010b00ffffffffffffffffff01"},
      {DataType::kBool, "080a1204120208025a020100"},
      {DataType::kComplex64, "08081204120208024a100000803f000000400000404000008040"},
      {DataType::kComplex128,
       "08121204120208026220000000000000f03f000000000000004000000000000008400000000000001040"},
      {DataType::kQint8, "080b1204120208023a0bffffffffffffffffff0101"},
      {DataType::kFloat8E5m2, "08181204120208029201020180"},
      {DataType::kBytes, "08071204120208024201614201ff"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(echoed_tensor(each.tensor, echo_x(each.type, {-1})), each.tensor) << data_type_name(each.type);
}

TEST(Predict, ValuesMayBePackedOrNotInAnyNumberOfPieces) {
  const std::string answer = "08011204120208032a0c0000803f0000004000004040";
  const ServedSignature floats = echo_x(DataType::kFloat32, {-1});
  for (const std::string_view values :
       {"2a0c0000803f0000004000004040", "2d0000803f2d000000402d00004040", "2a040000803f2a080000004000004040",
        "2a040000803f2d000000402a0400004040", "2a002a0c0000803f0000004000004040"})
    EXPECT_EQ(echoed_tensor(concat("0801120412020803", values), floats), answer) << values;
  // The type may stand behind the values.
  EXPECT_EQ(echoed_tensor("2a0c0000803f00000040000040401204120208030801", floats), answer);
  const ServedSignature integers = echo_x(DataType::kInt32, {-1});
  for (const std::string_view values : {"3a03010203", "380138023803", "38013a020203"})
    EXPECT_EQ(echoed_tensor(concat("0803120412020803", values), integers), "08031204120208033a03010203")
        << values;
}

TEST(Predict, TheLastValueStandsForThoseThatAreMissing) {
  EXPECT_EQ(echoed_tensor("0801120412020803"
                          "2a040000803f",
                          echo_x(DataType::kFloat32, {-1})),
            "0801120412020803"
            "2a0c0000803f0000803f0000803f");
  EXPECT_EQ(echoed_tensor("0803120412020805"
                          "3a020107",
                          echo_x(DataType::kInt32, {-1})),
            "0803120412020805"
            "3a050107070707");
  EXPECT_EQ(echoed_tensor("0803120412020803", echo_x(DataType::kInt32, {-1})),
            "0803120412020803"
            "3a03000000");
  EXPECT_EQ(echoed_tensor("0807120412020802"
                          "420161",
                          echo_x(DataType::kBytes, {-1})),
            "0807120412020802"
            "420161420161");
}

TEST(Predict, RepeatedValuesHaveABound) {
  // 2^30 floats from one; 2^14 strings of 64 bytes from one.
  EXPECT_THAT(echoed_tensor("080112081206088080808004"
                            "2a040000803f",
                            echo_x(DataType::kFloat32, {-1})),
              StartsWith("<RESOURCE_EXHAUSTED: the input x: the tensor repeats its last value too often"));
  EXPECT_THAT(echoed_tensor("080712061204"
                            "08808001" +
                                wire_field(8, std::string(128, '6')),
                            echo_x(DataType::kBytes, {-1})),
              HasSubstr("repeats its last value too often"));
}

TEST(Predict, ByteStringsMayBeContent) {
  EXPECT_EQ(echoed_tensor("080712041202080322060102"
                          "00616263",
                          echo_x(DataType::kBytes, {-1})),
            "0807120412020803"
            "42016142026263"
            "4200");
  for (const std::string_view content : {"2205010200"
                                         "6162",
                                         "22070102006162"
                                         "6364",
                                         "2201ff", "220101"})
    EXPECT_THAT(echoed_tensor(concat("0807120412020803", content), echo_x(DataType::kBytes, {-1})),
                HasSubstr("tensor_content does not have the byte strings of the shape"))
        << content;
}

TEST(Predict, TakesScalarsWhereTheSignatureHasNoRows) {
  const ServedSignature whole = echo_of({{"x", DataType::kFloat32, {}}}, false);
  EXPECT_EQ(echoed_tensor("080112002a040000803f", whole), "080112002a040000803f");
  EXPECT_EQ(echoed_tensor("08012a040000803f", whole), "080112002a040000803f");
}

TEST(Predict, TakesRawRowsAsColumns) {
  ServedSignature signature{.name = "serving_default",
                            .inputs = {{std::string(kRawRowsInput), DataType::kBytes, {-1}}},
                            .outputs = {{std::string(kRawRowsInput), DataType::kBytes, {-1}}},
                            .is_batched = true,
                            .columns = {{"x", false, true}}};
  // [1.5, 2.5]; a model that answers with its rows.
  const std::string answer = echoed(request_for("08011204120208022a080000c03f00002040"), signature);
  EXPECT_THAT(answer, HasSubstr(to_hexadecimal(as_bytes(R"({"x":1.5})"))));
  EXPECT_THAT(answer, HasSubstr(to_hexadecimal(as_bytes(R"({"x":2.5})"))));
}

TEST(Predict, SaysWhyATensorIsRefused) {
  struct Case {
    std::string_view tensor, reason;
  };
  const ServedSignature signature = echo_x(DataType::kFloat32, {-1});
  const Case cases[] = {
      {"0863120412020801", "the tensor has the dtype 99, which this server does not know"},
      {"120412020801", "the tensor has the dtype 0"},
      {"080112021801", "unknown_rank"},
      {"0801"
       "120d120b08ffffffffffffffffff01",
       "the tensor's shape"},
      {"0801"
       "1214"
       "120808ffffffffffff3f"
       "120808ffffffffffff3f",
       "is too large"},
      {"0801"
       "1212"
       "120012001200120012001200120012001200",
       "more than 8 dimensions"},
      {"0801120412020801"
       "2a080000803f00000040",
       "the tensor has 2 values, but the shape [1] has 1 elements"},
      {"0801120412020801"
       "22080000803f00000040",
       "tensor_content has 8 bytes"},
      {"0801120412020801"
       "2a030000",
       "not a well-formed message"},
      {"0801120412020801"
       "2a03000000",
       "wire type"},
      {"0801120412020801"
       "2801",
       "wire type"},
      {"0801120412020801"
       "2a040000803f"
       "0b",
       "not a well-formed message"},
      {"0803120412020801"
       "3a0101",
       "is of type int32; the signature takes float32"},
      {"0804120412020801"
       "3a02ff03",
       "value 0 is 511, which does not fit uint8"},
      {"0806120412020801"
       "3a028001",
       "value 0 is 128, which does not fit int8"},
      {"0803120412020801"
       "3a0180",
       "the last value is incomplete"},
      {"0801120012002a040000803f", "<INVALID_ARGUMENT"},
  };
  for (const Case& each : cases) {
    const std::string error = echoed_tensor(each.tensor, signature);
    EXPECT_THAT(error, HasSubstr(each.reason)) << each.tensor;
    EXPECT_THAT(error, StartsWith("<INVALID_ARGUMENT: ")) << each.tensor;
  }
}

TEST(Predict, SaysWhyARequestIsRefused) {
  const ServedSignature signature = echo_x(DataType::kFloat32, {-1, 2});
  const auto refused = [&](std::string_view message) { return echoed(from_hexadecimal(message), signature); };
  EXPECT_THAT(refused(""), HasSubstr("no model_spec with the name of a model"));
  EXPECT_THAT(refused("0a"), HasSubstr("the request is not a well-formed message"));
  EXPECT_THAT(refused("0a030a016d"), HasSubstr("the request has no inputs"));
  EXPECT_THAT(refused(wire_field(1, "0a016d120b08ffffffffffffffffff01")), HasSubstr("version -1"));
  EXPECT_THAT(refused(std::string(kContent) + wire_field(3, "7a")), HasSubstr("has no output z"));
  EXPECT_THAT(refused(std::string(kFloats) + wire_field(3, "78")), HasSubstr("output_filter has x twice"));
  const std::string twice = std::string(kContent) + std::string(kContent);
  EXPECT_THAT(refused(twice), HasSubstr("the input x is given twice"));
}

TEST(Predict, TruncatedRequestsAreRefusedOrShorter) {
  const ServedSignature signature = echo_x(DataType::kFloat32, {-1, 2});
  const Bytes whole = from_hexadecimal(kFloats);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string answer = echoed(part, signature);
    EXPECT_TRUE(answer.starts_with("<INVALID_ARGUMENT") || size + 3 >= whole.size()) << size << answer;
  }
}

TEST(Predict, MetadataAreASignatureDefMap) {
  const Bytes asked = from_hexadecimal("0a030a016d120d7369676e61747572655f646566");
  EXPECT_EQ(*parse_metadata_request(asked), (RequestedModel{.name = "m"}));
  EXPECT_THAT(parse_metadata_request(from_hexadecimal("0a030a016d")).error().message,
              HasSubstr("no metadata_field"));
  EXPECT_THAT(parse_metadata_request(from_hexadecimal("0a030a016d120178")).error().message,
              HasSubstr("only signature_def"));
  const ServedModel model{{{.name = "serving_default",
                            .inputs = {{"x", DataType::kFloat32, {-1, 2}}},
                            .outputs = {{"y", DataType::kBytes, {-1}}},
                            .is_batched = true}}};
  EXPECT_EQ(
      to_hexadecimal(metadata_response("m", 3, model)),
      "0a070a016d1202080312bb010a0d7369676e61747572655f64656612a9010a36747970652e676f6f676c65617069732e636f"
      "6d2f74656e736f72666c6f772e73657276696e672e5369676e61747572654465664d6170126f0a6d0a0f73657276696e675f"
      "64656661756c74125a0a1f0a0178121a0a03783a3010011a11120b08ffffffffffffffffff0112020802121b0a017912160a"
      "03793a3010071a0d120b08ffffffffffffffffff011a1a74656e736f72666c6f772f73657276696e672f70726564696374");
}

TEST(Predict, StatusHasTheStatesOfTensorFlowServing) {
  EXPECT_EQ(*parse_status_request(from_hexadecimal("0a070a016d12020803")),
            (RequestedModel{.name = "m", .version = 3}));
  EXPECT_EQ(to_hexadecimal(status_response({{3, RestVersionState::kAvailable, {}},
                                            {4, RestVersionState::kEnd, Error{Code::kUnavailable, "gone"}}})),
            "0a060803101e1a000a0e080410321a08080e1204676f6e65");
}

TEST(GrpcService, KnowsItsMethods) {
  EXPECT_EQ(*parse_grpc_method("/tensorflow.serving.PredictionService/Predict"), GrpcMethod::kPredict);
  EXPECT_EQ(*parse_grpc_method("/inference.GRPCInferenceService/ModelInfer"), GrpcMethod::kInfer);
  EXPECT_TRUE(is_infer_method("/inference.GRPCInferenceService/ModelInfer"));
  EXPECT_FALSE(is_infer_method("/grpc.health.v1.Health/Check"));
  EXPECT_EQ(*parse_grpc_method("/tensorflow.serving.PredictionService/MultiInference"),
            GrpcMethod::kMultiInference);
  EXPECT_THAT(parse_grpc_method("/tensorflow.serving.ModelService/HandleReloadConfigRequest").error().message,
              HasSubstr("publish a version"));
  for (const std::string_view path : {"", "/", "/inference.GRPCInferenceService/", "/a/b"})
    EXPECT_EQ(parse_grpc_method(path).error().code, Code::kUnimplemented) << path;
}

TEST(GrpcService, MessagesAreCutBetweenCharacters) {
  EXPECT_EQ(grpc_message({Code::kNotFound, "short"}), "short");
  EXPECT_EQ(grpc_message({Code::kNotFound, std::string(2000, 'a')}), std::string(1024, 'a'));
  EXPECT_EQ(grpc_message({Code::kNotFound, "a" + std::string(2000, '\xC3')}).size(), 1024);
  std::string accents = "a";
  for (int i = 0; i < 1000; ++i) accents += "é";
  EXPECT_EQ(grpc_message({Code::kNotFound, accents}), accents.substr(0, 1023));
}

TEST(GrpcService, HealthNamesAService) {
  EXPECT_EQ(*parse_health_request({}), "");
  EXPECT_EQ(*parse_health_request(from_hexadecimal("0a016d")), "m");
  EXPECT_FALSE(parse_health_request(from_hexadecimal("0a056d")));
  EXPECT_EQ(to_hexadecimal(health_response(true)), "0801");
  EXPECT_EQ(to_hexadecimal(health_response(false)), "0802");
}

}  // namespace
}  // namespace headrace

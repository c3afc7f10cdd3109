#include "headrace/engine/tensorflow/meta_graph.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace headrace::tensorflow {
namespace {

// A length-delimited field, and a varint field below 128, of a protobuf message.
std::string field(int number, const std::string& text) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(text.size())} + text;
}
std::string field(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

std::string dimension(int size) {
  // −1 as protobuf writes it: ten bytes.
  return field(2, size >= 0 ? field(1, size) : std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}

std::string entry(const std::string& name, const std::string& tensor, int type, const std::string& shape) {
  return field(1, name) + field(2, field(1, tensor) + field(2, type) + field(3, shape));
}

std::string signature(const std::string& name, const std::string& definition) {
  return field(5, field(1, name) + field(2, definition));
}

const std::string kSaver = field(3, field(1, "saver_filename:0") + field(2, "Save:0") + field(3, "Restore"));

TEST(MetaGraph, SignaturesAndTheSaverAreFound) {
  const std::string bytes =
      field(1, "ignored") + kSaver +
      signature("predict", field(1, entry("x", "in:0", 1, dimension(-1) + dimension(5))) +
                               field(2, entry("y", "out:2", 9, field(3, 1))));
  const auto graph = parse_meta_graph(as_bytes(bytes));
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->save_filename, "saver_filename:0");
  EXPECT_EQ(graph->save_result, "Save:0");
  EXPECT_EQ(graph->restore_operation, "Restore");
  ASSERT_TRUE(graph->signatures.contains("predict"));
  const Signature& predict = graph->signatures.at("predict");
  EXPECT_EQ(predict.inputs.at("x").type, DataType::kFloat32);
  EXPECT_EQ(predict.inputs.at("x").shape, Shape({-1, 5}));
  EXPECT_EQ(predict.outputs.at("y").type, DataType::kInt64);
  EXPECT_FALSE(predict.outputs.at("y").shape.has_value());
  EXPECT_EQ(graph->tensors.at("predict").inputs.at("x"), "in:0");
  EXPECT_EQ(graph->tensors.at("predict").outputs.at("y"), "out:2");
}

TEST(MetaGraph, ASignatureOfAnUnknownTypeIsLeftOut) {
  constexpr int kVariant = 21;
  const std::string bytes = signature("odd", field(1, entry("x", "in:0", kVariant, ""))) +
                            signature("__internal", field(1, entry("x", "in:0", 1, ""))) +
                            signature("good", field(1, entry("x", "in:0", 7, "")));
  const auto graph = parse_meta_graph(as_bytes(bytes));
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->signatures.size(), 1U);
  EXPECT_EQ(graph->signatures.at("good").inputs.at("x").type, DataType::kBytes);
}

TEST(MetaGraph, EveryTruncationIsDataLossOrAShorterGraph) {
  const std::string bytes = kSaver + signature("predict", field(1, entry("x", "in:0", 1, dimension(3))));
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const auto graph = parse_meta_graph(as_bytes(bytes.substr(0, size)));
    if (size == kSaver.size()) {
      EXPECT_TRUE(graph);
    } else {
      ASSERT_FALSE(graph) << size;
      EXPECT_EQ(graph.error().code, Code::kDataLoss);
    }
  }
}

TEST(MetaGraph, BytesChangedAtRandomDoNoHarm) {
  const std::string whole =
      kSaver + signature("predict", field(1, entry("x", "in:0", 1, dimension(-1) + dimension(3))) +
                                        field(2, entry("y", "out:0", 1, dimension(2))));
  std::mt19937 random(1);
  int parsed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    parsed += parse_meta_graph(as_bytes(bytes)).has_value() ? 1 : 0;
  }
  EXPECT_GT(parsed, 0);
}

TEST(MetaGraph, TypesTranslateBothWays) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kInt32, DataType::kInt64,
                              DataType::kUint8, DataType::kBool, DataType::kBytes}) {
    EXPECT_EQ(data_type_of(tensorflow_type(type)), type);
  }
  EXPECT_FALSE(data_type_of(0).has_value());
}

}  // namespace
}  // namespace headrace::tensorflow

#include "headrace/engine/tensorflow/meta_graph.h"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "headrace/base/wire.h"

namespace headrace::tensorflow {

namespace {

/// tensorflow/core/framework/types.proto, DataType.
constexpr std::pair<DataType, int> kTypes[] = {{DataType::kFloat32, 1},
                                               {DataType::kFloat64, 2},
                                               {DataType::kInt32, 3},
                                               {DataType::kUint8, 4},
                                               {DataType::kInt16, 5},
                                               {DataType::kInt8, 6},
                                               {DataType::kBytes, 7},
                                               {DataType::kComplex64, 8},
                                               {DataType::kInt64, 9},
                                               {DataType::kBool, 10},
                                               {DataType::kQint8, 11},
                                               {DataType::kQuint8, 12},
                                               {DataType::kQint32, 13},
                                               {DataType::kBfloat16, 14},
                                               {DataType::kQint16, 15},
                                               {DataType::kQuint16, 16},
                                               {DataType::kUint16, 17},
                                               {DataType::kComplex128, 18},
                                               {DataType::kFloat16, 19},
                                               {DataType::kUint32, 22},
                                               {DataType::kUint64, 23},
                                               {DataType::kFloat8E5m2, 24},
                                               {DataType::kFloat8E4m3fn, 25},
                                               {DataType::kFloat8E4m3fnuz, 26},
                                               {DataType::kFloat8E4m3b11fnuz, 27},
                                               {DataType::kFloat8E5m2fnuz, 28},
                                               {DataType::kInt4, 29},
                                               {DataType::kUint4, 30},
                                               {DataType::kInt2, 31},
                                               {DataType::kUint2, 32}};
static_assert(std::size(kTypes) == kDataTypes);

/// Parses a TensorShapeProto. None if the rank is unknown, or is too large for Shape.
std::optional<Shape> parse_shape(BytesView message, bool& valid) {
  std::vector<std::int64_t> sizes;
  bool known = true;
  WireReader shape(message);
  for (WireField shape_field; shape.next(shape_field);) {
    if (shape_field.number == 3) known = shape_field.value == 0;
    if (shape_field.number != 2) continue;
    std::int64_t size = 0;
    WireReader dimension(shape_field.bytes);
    for (WireField dimension_field; dimension.next(dimension_field);) {
      if (dimension_field.number == 1) size = dimension_field.as_int64();
    }
    valid = valid && !dimension.malformed();
    sizes.push_back(size < 0 ? -1 : size);
  }
  valid = valid && !shape.malformed();
  if (!known || sizes.size() > Shape::kRankMax) return std::nullopt;
  return Shape(sizes);
}

struct NamedTensor {
  std::string name;
  std::string tensor;
  TensorInfo info;
  bool supported = false;
};

/// Parses an entry of SignatureDef.inputs or .outputs: a key and a TensorInfo.
NamedTensor parse_entry(BytesView message, bool& valid) {
  NamedTensor result;
  WireReader entry(message);
  for (WireField entry_field; entry.next(entry_field);) {
    if (entry_field.number == 1) result.name = entry_field.as_text();
    if (entry_field.number != 2) continue;
    WireReader info(entry_field.bytes);
    for (WireField info_field; info.next(info_field);) {
      if (info_field.number == 1) result.tensor = info_field.as_text();
      if (info_field.number == 3) result.info.shape = parse_shape(info_field.bytes, valid);
      if (info_field.number != 2) continue;
      const auto type = data_type_of(static_cast<int>(info_field.value));
      result.supported = type.has_value();
      result.info.type = type.value_or(DataType::kFloat32);
    }
    valid = valid && !info.malformed();
  }
  valid = valid && !entry.malformed();
  return result;
}

/// Parses an entry of MetaGraphDef.signature_def: a key and a SignatureDef.
void parse_signature(BytesView message, MetaGraph& graph, bool& valid) {
  std::string name;
  Signature signature;
  SignatureTensors tensors;
  bool supported = true;
  WireReader entry(message);
  for (WireField entry_field; entry.next(entry_field);) {
    if (entry_field.number == 1) name = entry_field.as_text();
    if (entry_field.number != 2) continue;
    WireReader definition(entry_field.bytes);
    for (WireField definition_field; definition.next(definition_field);) {
      if (definition_field.number == 3) signature.method_name = definition_field.as_text();
      if (definition_field.number != 1 && definition_field.number != 2) continue;
      const bool is_input = definition_field.number == 1;
      NamedTensor named = parse_entry(definition_field.bytes, valid);
      supported = supported && named.supported && !named.tensor.empty();
      (is_input ? signature.inputs : signature.outputs)[named.name] = named.info;
      (is_input ? tensors.inputs : tensors.outputs)[named.name] = std::move(named.tensor);
    }
    valid = valid && !definition.malformed();
  }
  valid = valid && !entry.malformed();
  if (!supported || name.starts_with("__")) return;
  graph.tensors[name] = std::move(tensors);
  graph.signatures[std::move(name)] = std::move(signature);
}

}  // namespace

int tensorflow_type(DataType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) return theirs;
  }
  return 0;
}

std::optional<DataType> data_type_of(int tensorflow_type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == tensorflow_type) return ours;
  }
  return std::nullopt;
}

Result<MetaGraph> parse_meta_graph(BytesView bytes) {
  MetaGraph graph;
  bool valid = true;
  WireReader meta(bytes);
  for (WireField meta_field; meta.next(meta_field);) {
    if (meta_field.number == 5) parse_signature(meta_field.bytes, graph, valid);
    if (meta_field.number != 3) continue;
    WireReader saver(meta_field.bytes);
    for (WireField saver_field; saver.next(saver_field);) {
      if (saver_field.number == 1) graph.save_filename = saver_field.as_text();
      if (saver_field.number == 2) graph.save_result = saver_field.as_text();
      if (saver_field.number == 3) graph.restore_operation = saver_field.as_text();
    }
    valid = valid && !saver.malformed();
  }
  if (!valid || meta.malformed()) return Error{Code::kDataLoss, "not a MetaGraphDef: a field is cut short"};
  return graph;
}

}  // namespace headrace::tensorflow

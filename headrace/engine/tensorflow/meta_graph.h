#pragma once

/// \file The parts of a MetaGraphDef that are needed to run a SavedModel: its signatures, and the names of
/// the tensors that save and restore its variables. Field numbers:
/// tensorflow/core/protobuf/{meta_graph,saver}.proto.

#include <map>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/engine/engine.h"

namespace headrace::tensorflow {

/// Where a signature's inputs and outputs are in the graph, as "operation:index".
struct SignatureTensors {
  std::map<std::string, std::string, std::less<>> inputs;
  std::map<std::string, std::string, std::less<>> outputs;
};

struct MetaGraph {
  std::map<std::string, Signature, std::less<>> signatures;
  std::map<std::string, SignatureTensors, std::less<>> tensors;
  /// SaverDef; empty if the model has no variables. The names shift with the number of signatures.
  std::string save_filename;
  std::string save_result;
  std::string restore_operation;
};

/// Leaves out signatures with a tensor that is sparse or of a type that DataType lacks, and TensorFlow's own,
/// whose names begin with "__".
/// \error kDataLoss  not a MetaGraphDef
Result<MetaGraph> parse_meta_graph(BytesView bytes);

/// TensorFlow's number for a type (tensorflow/core/framework/types.proto).
int tensorflow_type(DataType type);
std::optional<DataType> data_type_of(int tensorflow_type);

}  // namespace headrace::tensorflow

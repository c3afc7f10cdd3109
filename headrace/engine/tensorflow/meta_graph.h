#pragma once

/// \file Reads the parts of a MetaGraphDef that are needed to run a SavedModel: its signatures, and the names
/// of the tensors that save and restore its variables. Source of the field numbers:
/// tensorflow/core/protobuf/{meta_graph,saver}.proto.

#include <map>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/engine/engine.h"

namespace headrace::tensorflow {

/// The tensors in the graph of a signature's inputs and outputs, as "operation:index".
struct SignatureTensors {
  std::map<std::string, std::string, std::less<>> inputs;
  std::map<std::string, std::string, std::less<>> outputs;
};

struct MetaGraph {
  std::map<std::string, Signature, std::less<>> signatures;
  std::map<std::string, SignatureTensors, std::less<>> tensors;
  /// The tensor names in SaverDef; empty if the model has no variables. They differ between models, because
  /// their numbering depends on the number of signatures.
  std::string save_filename;
  std::string save_result;
  std::string restore_operation;
};

/// Parses a serialized MetaGraphDef. Leaves out signatures with a tensor that is sparse or has a type that
/// DataType lacks, and TensorFlow's own signatures, whose names begin with "__".
/// \error kDataLoss  not a MetaGraphDef
Result<MetaGraph> parse_meta_graph(BytesView bytes);

/// TensorFlow's number for a type (tensorflow/core/framework/types.proto).
int tensorflow_type(DataType type);
/// The type with TensorFlow's number; none if DataType lacks it.
std::optional<DataType> data_type_of(int tensorflow_type);

}  // namespace headrace::tensorflow

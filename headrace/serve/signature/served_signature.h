#pragma once

/// \file The signatures of a loaded version of a model, as clients see them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/data_type.h"
#include "headrace/base/json.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"

namespace headrace {

/// One input or output of a signature. −1 in the shape means any size. If the signature is batched, the first
/// dimension is the rows.
struct ServedTensor {
  std::string name;
  DataType type = DataType::kFloat32;
  Shape shape{};
  bool operator==(const ServedTensor&) const = default;
};

/// A column of raw rows.
struct ServedColumn {
  std::string name;
  bool is_image = false;  // the values are encoded images
  bool is_needed = true;  // false: a row may lack it
  bool operator==(const ServedColumn&) const = default;
};

/// The method name of a signature whose model names no other.
inline constexpr std::string_view kPredictMethod = "tensorflow/serving/predict";

/// A function of the model. Inputs and outputs are in ascending order of their names. A value.
struct ServedSignature {
  std::string name;
  std::vector<ServedTensor> inputs;
  std::vector<ServedTensor> outputs;
  /// Whether rows of several requests may run together: the first dimension of every input and output is the
  /// number of rows, which may be any.
  bool is_batched = false;
  /// If not empty, the signature takes raw rows, from which the model computes its inputs. `inputs` is then
  /// one input of texts, kRawRowsInput, of shape [−1]: each row is a JSON object whose members are columns.
  std::vector<ServedColumn> columns{};
  /// The method name in the SavedModel, for clients that ask for metadata.
  std::string method_name{kPredictMethod};
  bool takes_raw_rows() const { return !columns.empty(); }
  bool operator==(const ServedSignature&) const = default;
};

/// The name of the only input of a signature that takes raw rows.
inline constexpr std::string_view kRawRowsInput = "row";
/// The signature of a request that names none.
inline constexpr std::string_view kDefaultSignature = "serving_default";

/// All signatures of a loaded version.
struct ServedModel {
  /// By name, ascending.
  std::vector<ServedSignature> signatures;
  /// The signature with this name; null: there is none.
  const ServedSignature* find(std::string_view signature) const;
};

Json to_json(const ServedModel& model);
/// Parses what to_json has written.
/// \error kDataLoss  a member is missing or has another type; names do not ascend; a batched tensor has no
///                   dimension of rows, or a fixed number of rows
Result<ServedModel> parse_served_model(std::string_view json);

}  // namespace headrace

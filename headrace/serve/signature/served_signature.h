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

/// One input or output of a signature. −1 in the shape means any size. Where the signature is batched, the
/// first dimension is the rows.
struct ServedTensor {
  std::string name;
  DataType type = DataType::kFloat32;
  Shape shape{};
  bool operator==(const ServedTensor&) const = default;
};

/// A column of raw rows.
struct ServedColumn {
  std::string name;
  bool is_image = false;  // encoded bytes
  bool is_needed = true;  // false: a row may lack it
  bool operator==(const ServedColumn&) const = default;
};

/// The name of the method that a signature has unless its model says otherwise.
inline constexpr std::string_view kPredictMethod = "tensorflow/serving/predict";

/// A function of the model. Inputs and outputs ascend by name. A value.
struct ServedSignature {
  std::string name;
  std::vector<ServedTensor> inputs;
  std::vector<ServedTensor> outputs;
  /// Rows of several requests may be run together: every input and output has rows of the same number, which
  /// is open, as its first dimension.
  bool is_batched = false;
  /// Not empty: the signature takes raw rows, and the model makes its inputs of them. `inputs` is then one
  /// input of texts, kRawRowsInput, of [−1]: each row is an object of JSON, whose members are the columns.
  std::vector<ServedColumn> columns{};
  /// As the SavedModel has it, for clients that ask for metadata.
  std::string method_name{kPredictMethod};
  bool takes_raw_rows() const { return !columns.empty(); }
  bool operator==(const ServedSignature&) const = default;
};

/// The name of the only input of a signature that takes raw rows.
inline constexpr std::string_view kRawRowsInput = "row";
/// The signature that is meant where a request names none.
inline constexpr std::string_view kDefaultSignature = "serving_default";

/// Everything about a loaded version.
struct ServedModel {
  /// By name, ascending.
  std::vector<ServedSignature> signatures;
  /// None: there is no such signature.
  const ServedSignature* find(std::string_view signature) const;
};

Json to_json(const ServedModel& model);
/// \error kDataLoss  a member is missing, or of another type; names do not ascend; a batched tensor has no
///                   rows, or rows of a fixed number
Result<ServedModel> parse_served_model(std::string_view json);

}  // namespace headrace

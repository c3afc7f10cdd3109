#pragma once

/// \file The answers to a request's rows, which may lie in several batches, as one tensor for each output.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/protocol/json_writer.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// Rows of an output in one batch. Views the batch's memory.
struct AnswerPart {
  TensorView tensor;
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
  Shape row{};  // of one of them

  std::uint64_t first_element(std::uint64_t index) const { return (first_row + index) * row.elements(); }
};

/// An output for all rows of a request. A signature that is not batched has one row, its whole output.
struct AnswerOutput {
  std::string_view name;  // the signature's
  DataType type = DataType::kFloat32;
  bool is_batched = true;
  std::vector<AnswerPart> parts{};

  /// The shape of the whole output.
  /// \error kFailedPrecondition  batches have different sizes of open dimensions
  Result<Shape> shape() const;
};

/// The outputs in the order of the signature, which must outlive them, as must the answers. `word` is what
/// messages call a row.
/// \error any        that of the first row that has none, with the row's number
/// \error kInternal  the answers are not those of this signature
Result<std::vector<AnswerOutput>> join_answers(const BatchAnswers& answers, const ServedSignature& signature,
                                               std::string_view word);

enum class AnswerEncoding : std::uint8_t { kJson, kBinary };
/// An upper bound on the bytes that an encoding takes for all outputs, without their names.
std::uint64_t most_encoded_bytes(const BatchAnswers& answers, AnswerEncoding encoding);

/// \error kInvalidArgument  the signature lacks an output that a request asks for
Status check_has_output(const ServedSignature& signature, std::string_view name);

/// None: there is no such output.
const AnswerOutput* find_output(const std::vector<AnswerOutput>& outputs, std::string_view name);

/// The elements of a part, row after row. REQUIRES: its type is kBytes
std::span<const std::string_view> texts_of(const AnswerPart& part);

/// Writes the whole output as nested lists, with a list of the rows around if it is batched.
/// \error as append_json_tensor
Status append_json_output(std::string& out, const AnswerOutput& output, JsonBytesForm form);

}  // namespace headrace

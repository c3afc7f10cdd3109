#pragma once

/// \file Joins the answers to a request's rows, which may lie in several batches, into one output each.

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

/// The rows of an output that lie in one batch. A view of the batch's memory.
struct AnswerPart {
  TensorView tensor;
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
  Shape row{};  // of one row

  /// The element of `tensor` where row `index` of this part begins.
  std::uint64_t first_element(std::uint64_t index) const { return (first_row + index) * row.elements(); }
};

/// An output for all rows of a request. If the signature is not batched, the whole output is one row.
struct AnswerOutput {
  std::string_view name;  // a view of the signature
  DataType type = DataType::kFloat32;
  bool is_batched = true;
  std::vector<AnswerPart> parts{};

  /// The shape of the whole output.
  /// \error kFailedPrecondition  an open dimension has different sizes in different batches
  Result<Shape> shape() const;
};

/// Returns the outputs in the order of the signature. The signature and the answers must outlive them. `word`
/// is the word for a row in messages.
/// \error any        a row has no answer: the error of the first such row, with its number
/// \error kInternal  the answers do not belong to this signature
Result<std::vector<AnswerOutput>> join_answers(const BatchAnswers& answers, const ServedSignature& signature,
                                               std::string_view word);

enum class AnswerEncoding : std::uint8_t { kJson, kBinary };
/// An upper bound on the bytes of all outputs in an encoding, without their names.
std::uint64_t most_encoded_bytes(const BatchAnswers& answers, AnswerEncoding encoding);

/// Checks that a signature has an output that a request asks for.
/// \error kInvalidArgument  it has no such output
Status check_has_output(const ServedSignature& signature, std::string_view name);

/// The output with this name; null: there is none.
const AnswerOutput* find_output(const std::vector<AnswerOutput>& outputs, std::string_view name);

/// The elements of a part, row after row. REQUIRES: its type is kBytes
std::span<const std::string_view> texts_of(const AnswerPart& part);

/// Appends the whole output as nested lists. If it is batched, the outermost list is that of the rows.
/// \error as append_json_tensor
Status append_json_output(std::string& out, const AnswerOutput& output, JsonBytesForm form);

}  // namespace headrace

#include "headrace/serve/protocol/answers.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

Error foreign_answers(std::string_view what) {
  return {Code::kInternal, concat("the engine's answer does not fit the signature: ", what)};
}

Status check_piece(const AnswerPiece& piece, const ServedSignature& signature, std::uint64_t row_before,
                   std::string_view word) {
  const auto failed = piece.outputs->failed_rows.lower_bound(piece.first_row);
  if (failed != piece.outputs->failed_rows.end() && failed->first < piece.first_row + piece.rows)
    return failed->second.in(concat(word, ' ', row_before + failed->first - piece.first_row));
  if (piece.outputs->tensors.size() != signature.outputs.size())
    return foreign_answers("the number of outputs differs");
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const TensorView& tensor = piece.outputs->tensors[i];
    if (tensor.type != signature.outputs[i].type)
      return foreign_answers(concat(signature.outputs[i].name, " is of type ", data_type_name(tensor.type)));
    if (tensor.shape.rank() == 0 ||
        static_cast<std::uint64_t>(tensor.shape[0]) < piece.first_row + piece.rows)
      return foreign_answers(concat(signature.outputs[i].name, " has too few rows"));
  }
  return {};
}

// A number as text, with its separator: "-2.2250738585072014e-308,".
constexpr std::uint64_t kNumberTextBytes = 26;
// The largest varint of Protocol Buffers.
constexpr std::uint64_t kVarintBytes = 10;
// The largest form of a byte in a string: "\\u0001".
constexpr std::uint64_t kEscapedBytes = 6;

std::uint64_t most_encoded_bytes(const TensorView& tensor, std::uint64_t first_row, std::uint64_t rows,
                                 AnswerEncoding encoding) {
  const std::uint64_t row_elements = Shape(tensor.shape.sizes().subspan(1)).elements();
  const bool is_json = encoding == AnswerEncoding::kJson;
  const std::uint64_t brackets = is_json ? 2 * tensor.shape.rank() : 0;
  const std::uint64_t each = (is_json ? kNumberTextBytes : kVarintBytes) + brackets;
  std::uint64_t bytes = rows * (row_elements * each + brackets);
  if (tensor.type != DataType::kBytes) return bytes;
  for (const std::string_view text : tensor.strings.subspan(first_row * row_elements, rows * row_elements))
    bytes += (is_json ? kEscapedBytes : 1) * text.size();
  return bytes;
}

}  // namespace

std::uint64_t most_encoded_bytes(const BatchAnswers& answers, AnswerEncoding encoding) {
  std::uint64_t bytes = 0;
  for (const AnswerPiece& piece : answers) {
    for (const TensorView& tensor : piece.outputs->tensors) {
      if (tensor.shape.rank() > 0) bytes += most_encoded_bytes(tensor, piece.first_row, piece.rows, encoding);
    }
  }
  return bytes;
}

Result<Shape> AnswerOutput::shape() const {
  std::uint64_t rows = 0;
  for (const AnswerPart& part : parts) {
    rows += part.rows;
    if (part.row == parts[0].row) continue;
    return Error{Code::kFailedPrecondition,
                 concat("rows of the output ", name, " have different shapes, ", parts[0].row.text(), " and ",
                        part.row.text(), ": send fewer rows in a request")};
  }
  if (!is_batched) return parts[0].row;
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(rows)};
  const auto row_sizes = parts[0].row.sizes();
  sizes.insert(sizes.end(), row_sizes.begin(), row_sizes.end());
  return Shape(sizes);
}

Result<std::vector<AnswerOutput>> join_answers(const BatchAnswers& answers, const ServedSignature& signature,
                                               std::string_view word) {
  if (answers.empty()) return foreign_answers("there are no rows");
  std::vector<AnswerOutput> out;
  for (const ServedTensor& output : signature.outputs)
    out.push_back({.name = output.name, .type = output.type, .is_batched = signature.is_batched});
  std::uint64_t rows = 0;
  for (const AnswerPiece& piece : answers) {
    HEADRACE_CHECK(check_piece(piece, signature, rows, word));
    rows += piece.rows;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const TensorView& tensor = piece.outputs->tensors[i];
      out[i].parts.push_back({tensor, piece.first_row, piece.rows, Shape(tensor.shape.sizes().subspan(1))});
    }
  }
  if (!signature.is_batched && rows != 1) return foreign_answers("there are several rows");
  return out;
}

Status check_has_output(const ServedSignature& signature, std::string_view name) {
  if (std::ranges::find(signature.outputs, name, &ServedTensor::name) != signature.outputs.end()) return {};
  return Error{Code::kInvalidArgument,
               concat("the signature ", signature.name, " has no output ", printable_line(name, 60))};
}

const AnswerOutput* find_output(const std::vector<AnswerOutput>& outputs, std::string_view name) {
  const auto found = std::ranges::find(outputs, name, &AnswerOutput::name);
  return found == outputs.end() ? nullptr : &*found;
}

std::span<const std::string_view> texts_of(const AnswerPart& part) {
  return part.tensor.strings.subspan(part.first_element(0), part.rows * part.row.elements());
}

Status append_json_output(std::string& out, const AnswerOutput& output, JsonBytesForm form) {
  if (output.is_batched) out += '[';
  for (std::string_view separator = ""; const AnswerPart& part : output.parts) {
    for (std::uint64_t row = 0; row < part.rows; ++row) {
      out += std::exchange(separator, ",");
      HEADRACE_CHECK(append_json_tensor(out, part.tensor, part.first_element(row), part.row, form));
    }
  }
  if (output.is_batched) out += ']';
  return {};
}

}  // namespace headrace

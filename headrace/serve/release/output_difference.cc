#include "headrace/serve/release/output_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/engine/tensor_cast.h"
#include "headrace/serve/protocol/answers.h"

namespace headrace {
namespace {

// A row of one output: its part, and the row's index in the part.
struct OutputRow {
  const AnswerPart* part;
  std::uint64_t index;
};

std::vector<OutputRow> rows_of(const AnswerOutput& output) {
  std::vector<OutputRow> out;
  for (const AnswerPart& part : output.parts) {
    for (std::uint64_t i = 0; i < part.rows; ++i) out.push_back({&part, i});
  }
  return out;
}

// The largest difference between the numbers of two rows.
template <typename T>
double number_difference(const OutputRow& a, const OutputRow& b, std::uint64_t elements) {
  const T* const first = static_cast<const T*>(a.part->tensor.data) + a.part->first_element(a.index);
  const T* const second = static_cast<const T*>(b.part->tensor.data) + b.part->first_element(b.index);
  double largest = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    if (first[i] == second[i]) continue;
    const T most = std::max(first[i], second[i]), least = std::min(first[i], second[i]);
    if constexpr (std::is_integral_v<T>) {
      largest = std::max(
          largest, static_cast<double>(static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least)));
    } else if (!std::isnan(first[i]) || !std::isnan(second[i])) {
      const double difference = static_cast<double>(most) - static_cast<double>(least);
      const bool is_number = std::isfinite(first[i]) && std::isfinite(second[i]);
      largest = std::max(largest, is_number ? difference : std::numeric_limits<double>::infinity());
    }
  }
  return largest;
}

// nullopt: the type has no numeric differences.
std::optional<double> row_difference(DataType type, const OutputRow& a, const OutputRow& b,
                                     std::uint64_t elements) {
  switch (type) {
    case DataType::kFloat32:
      return number_difference<float>(a, b, elements);
    case DataType::kFloat64:
      return number_difference<double>(a, b, elements);
    case DataType::kInt8:
      return number_difference<std::int8_t>(a, b, elements);
    case DataType::kInt16:
      return number_difference<std::int16_t>(a, b, elements);
    case DataType::kInt32:
      return number_difference<std::int32_t>(a, b, elements);
    case DataType::kInt64:
      return number_difference<std::int64_t>(a, b, elements);
    case DataType::kUint8:
      return number_difference<std::uint8_t>(a, b, elements);
    case DataType::kUint16:
      return number_difference<std::uint16_t>(a, b, elements);
    case DataType::kUint32:
      return number_difference<std::uint32_t>(a, b, elements);
    case DataType::kUint64:
      return number_difference<std::uint64_t>(a, b, elements);
    default:
      return std::nullopt;
  }
}

bool is_same_value(DataType type, const OutputRow& a, const OutputRow& b, std::uint64_t elements) {
  const std::uint64_t first = a.part->first_element(a.index), second = b.part->first_element(b.index);
  if (type == DataType::kBytes) {
    return std::ranges::equal(texts_of(*a.part).subspan(first, elements),
                              texts_of(*b.part).subspan(second, elements));
  }
  const std::size_t size = data_type_size_bytes(type);
  const auto* const bytes = static_cast<const std::byte*>(a.part->tensor.data) + first * size;
  const auto* const others = static_cast<const std::byte*>(b.part->tensor.data) + second * size;
  return std::memcmp(bytes, others, elements * size) == 0;
}

// Converts 16-bit floats to float32, which has differences. `kept` owns the converted values.
Status widen(std::vector<AnswerOutput>& outputs, std::vector<Tensor>& kept) {
  for (AnswerOutput& output : outputs) {
    if (output.type != DataType::kFloat16 && output.type != DataType::kBfloat16) continue;
    for (AnswerPart& part : output.parts) {
      const auto elements = static_cast<std::int64_t>(part.rows * part.row.elements());
      const auto* const first = static_cast<const std::byte*>(part.tensor.data) +
                                part.first_element(0) * data_type_size_bytes(output.type);
      HEADRACE_TRY(Tensor wide,
                   cast_tensor(output.name, {output.type, {elements}, first, {}}, DataType::kFloat32));
      part.tensor = wide.view();
      part.first_row = 0;
      kept.push_back(std::move(wide));
    }
    output.type = DataType::kFloat32;
  }
  return {};
}

Status check_same_outputs(const std::vector<AnswerOutput>& outputs, const std::vector<AnswerOutput>& others) {
  for (const AnswerOutput& output : outputs) {
    const AnswerOutput* const other = find_output(others, output.name);
    if (other != nullptr && other->type == output.type) continue;
    return Error{Code::kFailedPrecondition,
                 concat("the other version has no output ", output.name, " of the same type")};
  }
  for (const AnswerOutput& other : others) {
    if (find_output(outputs, other.name) != nullptr) continue;
    return Error{Code::kFailedPrecondition, concat("only the other version has an output ", other.name)};
  }
  return {};
}

// Returns whether the rows differ, and updates `largest`.
bool compare_row(DataType type, const OutputRow& a, const OutputRow& b, double tolerance, double& largest) {
  if (!(a.part->row == b.part->row)) return true;
  const std::uint64_t elements = a.part->row.elements();
  if (elements == 0) return false;
  const auto difference = row_difference(type, a, b, elements);
  if (!difference) return !is_same_value(type, a, b, elements);
  largest = std::max(largest, *difference);
  return *difference > tolerance;
}

}  // namespace

Result<OutputDifference> compare_outputs(const BatchAnswers& answers, const ServedSignature& signature,
                                         const BatchAnswers& others, const ServedSignature& other_signature,
                                         double tolerance) {
  HEADRACE_TRY(auto outputs, join_answers(answers, signature, "row"));
  HEADRACE_TRY(auto other_outputs, join_answers(others, other_signature, "row"));
  HEADRACE_CHECK(check_same_outputs(outputs, other_outputs));
  std::vector<Tensor> widened;
  HEADRACE_CHECK(widen(outputs, widened));
  HEADRACE_CHECK(widen(other_outputs, widened));
  OutputDifference out;
  std::vector<bool> differs;
  for (const AnswerOutput& output : outputs) {
    const std::vector<OutputRow> rows = rows_of(output);
    const std::vector<OutputRow> other_rows = rows_of(*find_output(other_outputs, output.name));
    if (rows.size() != other_rows.size() || (!differs.empty() && differs.size() != rows.size()))
      return Error{Code::kFailedPrecondition,
                   concat("the output ", output.name, " has a different number of rows")};
    differs.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (compare_row(output.type, rows[i], other_rows[i], tolerance, out.largest)) differs[i] = true;
    }
  }
  out.rows = differs.size();
  out.rows_that_differ = static_cast<std::uint64_t>(std::ranges::count(differs, true));
  return out;
}

}  // namespace headrace

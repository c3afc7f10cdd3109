#include "headrace/prepare/schema/label_value.h"

#include <cmath>

#include "headrace/base/text.h"
#include "headrace/prepare/row/byte_strings.h"

namespace headrace {

std::optional<std::int64_t> whole_number(const Cell& cell) {
  if (cell.kind == CellKind::kInt64s && cell.data.size() == sizeof(std::int64_t))
    return load_little_endian<std::int64_t>(cell.data.data());
  if (cell.kind != CellKind::kFloats || cell.data.size() != sizeof(float)) return std::nullopt;
  constexpr float kBeyond = 9223372036854775808.0F;  // 2^63
  const auto value = load_little_endian<float>(cell.data.data());
  if (!(value >= -kBeyond && value < kBeyond) || value != std::trunc(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::string_view> label_value(const Cell& given, const FeatureDefinition& label,
                                            TextEncoding encoding, std::string& storage) {
  const Cell cell = single_value(given);
  if (cell.kind == CellKind::kMissing && label.default_text) return trim(*label.default_text);
  if (const std::optional<std::int64_t> number = whole_number(cell)) {
    storage = concat(*number);
    return storage;
  }
  if (cell.kind != CellKind::kBytes) return std::nullopt;
  const std::string_view value = trim(decode_text(as_text(cell.data), encoding, storage).text);
  return value.size() <= kMostLabelBytes ? std::optional(value) : std::nullopt;
}

}  // namespace headrace

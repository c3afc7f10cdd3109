#pragma once

/// \file Values as text: for messages, the command line and features that are texts.

#include <string>

#include "headrace/base/json.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

/// How many values a JSON form may have, and how many bytes a decimal's magnitude: a few bytes of references
/// can stand for any number of values.
inline constexpr std::size_t kJsonValueLimit = 1'000'000;
inline constexpr std::size_t kDecimalBytesLimit = 1024;

/// As Java's UUID.toString and BigDecimal.toString write them; a UTF-16 text as UTF-8, with U+FFFD for half
/// of a pair.
std::string uuid_text(const Uuid& uuid);
/// \error kInvalidArgument  it has more than kDecimalBytesLimit bytes
Result<std::string> decimal_text(const Decimal& decimal);
std::string utf16_text(std::u16string_view units);

/// Element `index` of an array, as a number. REQUIRES: index < array.size(); T is an element's type
template <typename T>
T element(const PrimitiveArray& array, std::size_t index) {
  return load_little_endian<T>(array.bytes.data() + index * sizeof(T));
}
/// The text of an array of chars.
std::string char_array_text(const PrimitiveArray& array);

/// The JSON form that docs/formats/ignite-objects.md describes: objects by names of fields, bytes in base64.
/// \error kInvalidArgument  it would have more than kJsonValueLimit values, or of decimal_text
Result<Json> to_json(const Value& value);

}  // namespace headrace::ignite

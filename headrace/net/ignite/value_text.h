#pragma once

/// \file Values as text, for messages, the command line and features that are text.

#include <string>

#include "headrace/base/json.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

/// Limits for the number of values in a JSON form, and for the bytes of a decimal's magnitude. They are
/// necessary because a few bytes of references can stand for any number of values.
inline constexpr std::size_t kJsonValueLimit = 1'000'000;
inline constexpr std::size_t kDecimalBytesLimit = 1024;

/// As Java's UUID.toString writes it.
std::string uuid_text(const Uuid& uuid);
/// As Java's BigDecimal.toString writes it.
/// \error kInvalidArgument  the magnitude has more than kDecimalBytesLimit bytes
Result<std::string> decimal_text(const Decimal& decimal);
/// UTF-16 as UTF-8. Half of a surrogate pair becomes U+FFFD.
std::string utf16_text(std::u16string_view units);

/// Element `index` of an array, as a number. REQUIRES: index < array.size(), and T is the type of an element.
template <typename T>
T element(const PrimitiveArray& array, std::size_t index) {
  return load_little_endian<T>(array.bytes.data() + index * sizeof(T));
}
/// The text of an array of chars.
std::string char_array_text(const PrimitiveArray& array);

/// The JSON form that docs/formats/ignite-objects.md describes: objects by the names of their fields, and
/// bytes in base64.
/// \error kInvalidArgument  the form would have more than kJsonValueLimit values
/// \error                   as for decimal_text
Result<Json> to_json(const Value& value);

}  // namespace headrace::ignite

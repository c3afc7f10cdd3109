#pragma once

/// \file JSON text appended to a string: what answers are written with. Compact: no white space.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/serve/protocol/json_document.h"

namespace headrace {

/// A string with its quotes. Ill-formed UTF-8 is written as U+FFFD.
void append_json_text(std::string& out, std::string_view text);

/// The shortest decimals that read back as the same float or double, always with '.' or 'e'; NaN, Infinity
/// and -Infinity are written so, as TensorFlow Serving does.
void append_json_number(std::string& out, float value);
void append_json_number(std::string& out, double value);

/// The value as it was parsed, without white space: integers digit by digit, other numbers shortest.
/// Returns false if it contains NaN or an infinity, which no JSON expresses; `out` is then partly written.
bool append_json_node(std::string& out, const JsonNode& node);

/// {"b64":"…"}
void append_json_base64(std::string& out, std::string_view bytes);

/// How byte strings are written. kText: as strings; those that are no UTF-8 as kBase64.
enum class JsonBytesForm : std::uint8_t { kText, kBase64 };

/// Writes a part of a row-major tensor: `shape` nested lists, from the element `first` on.
/// \error kUnimplemented  JSON has no form for the type: half precision, complex and quantized numbers
/// REQUIRES: the tensor has first + shape.elements() elements
Status append_json_tensor(std::string& out, const TensorView& tensor, std::uint64_t first, const Shape& shape,
                          JsonBytesForm form);

}  // namespace headrace

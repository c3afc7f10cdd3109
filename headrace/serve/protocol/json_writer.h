#pragma once

/// \file Appends JSON to a string, for answers. Compact: no white space.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/serve/protocol/json_document.h"

namespace headrace {

/// Appends a string in quotes. Ill-formed UTF-8 is written as U+FFFD.
void append_json_text(std::string& out, std::string_view text);

/// Appends the shortest decimal that reads back as the same float or double, always with '.' or 'e'. Values
/// that are not finite are written as NaN, Infinity and -Infinity, as TensorFlow Serving does.
void append_json_number(std::string& out, float value);
void append_json_number(std::string& out, double value);

/// Appends a parsed value without white space. Integers keep all their digits; other numbers are written as
/// by append_json_number. Returns false if the value contains NaN or an infinity, which standard JSON cannot
/// express; `out` is then partly written.
bool append_json_node(std::string& out, const JsonNode& node);

/// Appends {"b64":"…"}.
void append_json_base64(std::string& out, std::string_view bytes);

/// How byte strings are written. kText: as strings, except that one that is not UTF-8 is written as kBase64.
enum class JsonBytesForm : std::uint8_t { kText, kBase64 };

/// Appends a part of a row-major tensor, from the element `first` on, as nested lists of this shape.
/// \error kUnimplemented  JSON cannot express the type: half precision, complex and quantized numbers
/// REQUIRES: the tensor has first + shape.elements() elements
Status append_json_tensor(std::string& out, const TensorView& tensor, std::uint64_t first, const Shape& shape,
                          JsonBytesForm form);

}  // namespace headrace

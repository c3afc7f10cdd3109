#include "headrace/serve/protocol/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

bool needs_escape(char character) {
  return static_cast<unsigned char>(character) < 0x20 || character == '"' || character == '\\';
}

void append_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHexadecimal = "0123456789abcdef";
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(std::ranges::find_if(text, needs_escape) - text.begin());
    out += text.substr(0, plain);
    if (plain == text.size()) return;
    const char character = text[plain];
    text.remove_prefix(plain + 1);
    switch (character) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out += kHexadecimal[static_cast<unsigned char>(character) >> 4];
        out += kHexadecimal[static_cast<unsigned char>(character) & 15];
    }
  }
}

template <typename T>
void append_floating(std::string& out, T value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
  } else {
    char digits[32];
    const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    const std::string_view text(digits, static_cast<std::size_t>(end - digits));
    out += text;
    if (text.find_first_of(".e") == text.npos) out += ".0";
  }
}

template <typename T>
void append_value(std::string& out, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    append_floating(out, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
}

// Calls `write_next` for each element, and writes the brackets and commas around the elements.
template <typename WriteNext>
void append_lists(std::string& out, std::span<const std::int64_t> sizes, const WriteNext& write_next) {
  if (sizes.empty()) return write_next();
  out += '[';
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    if (i > 0) out += ',';
    append_lists(out, sizes.subspan(1), write_next);
  }
  out += ']';
}

template <typename T>
void append_numbers(std::string& out, const TensorView& tensor, std::uint64_t first, const Shape& shape) {
  // Values are not read as T: another process may have written a byte that is not a bool.
  const auto* next = static_cast<const std::byte*>(tensor.data) + first * sizeof(T);
  append_lists(out, shape.sizes(), [&] {
    if constexpr (std::is_same_v<T, bool>) {
      append_value(out, *next != std::byte{0});
    } else {
      T value;
      std::memcpy(&value, next, sizeof value);
      append_value(out, value);
    }
    next += sizeof(T);
  });
}

void append_byte_strings(std::string& out, const TensorView& tensor, std::uint64_t first, const Shape& shape,
                         JsonBytesForm form) {
  auto next = tensor.strings.begin() + static_cast<std::ptrdiff_t>(first);
  append_lists(out, shape.sizes(), [&] {
    const std::string_view text = *next++;
    if (form == JsonBytesForm::kText && is_valid_utf8(text)) {
      out += '"';
      append_escaped(out, text);
      out += '"';
    } else {
      append_json_base64(out, text);
    }
  });
}

using AppendNumbers = void (*)(std::string&, const TensorView&, std::uint64_t, const Shape&);

AppendNumbers writer_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return append_numbers<float>;
    case DataType::kFloat64:
      return append_numbers<double>;
    case DataType::kInt8:
      return append_numbers<std::int8_t>;
    case DataType::kInt16:
      return append_numbers<std::int16_t>;
    case DataType::kInt32:
      return append_numbers<std::int32_t>;
    case DataType::kInt64:
      return append_numbers<std::int64_t>;
    case DataType::kUint8:
      return append_numbers<std::uint8_t>;
    case DataType::kUint16:
      return append_numbers<std::uint16_t>;
    case DataType::kUint32:
      return append_numbers<std::uint32_t>;
    case DataType::kUint64:
      return append_numbers<std::uint64_t>;
    case DataType::kBool:
      return append_numbers<bool>;
    default:
      return nullptr;
  }
}

bool append_children(std::string& out, const JsonNode& node) {
  std::string_view separator = "";
  if (node.is_array()) {
    out += '[';
    for (const JsonNode& child : node.elements()) {
      out += std::exchange(separator, ",");
      if (!append_json_node(out, child)) return false;
    }
    out += ']';
    return true;
  }
  out += '{';
  for (const JsonNodeMember& member : node.members()) {
    out += std::exchange(separator, ",");
    append_json_text(out, member.name);
    out += ':';
    if (!append_json_node(out, member.value)) return false;
  }
  out += '}';
  return true;
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  if (is_valid_utf8(text)) {
    append_escaped(out, text);
  } else {
    append_escaped(out, replace_invalid_utf8(text).text);
  }
  out += '"';
}

void append_json_number(std::string& out, float value) { append_floating(out, value); }
void append_json_number(std::string& out, double value) { append_floating(out, value); }

bool append_json_node(std::string& out, const JsonNode& node) {
  switch (node.kind()) {
    case JsonKind::kNull:
      out += "null";
      return true;
    case JsonKind::kBool:
      append_value(out, node.boolean());
      return true;
    case JsonKind::kInt64:
      append_value(out, node.int64());
      return true;
    case JsonKind::kUint64:
      append_value(out, node.uint64());
      return true;
    case JsonKind::kDouble:
      append_value(out, node.number());
      return std::isfinite(node.number());
    case JsonKind::kString:
      append_json_text(out, node.text());
      return true;
    case JsonKind::kArray:
    case JsonKind::kObject:
      break;
  }
  return append_children(out, node);
}

void append_json_base64(std::string& out, std::string_view bytes) {
  out += R"({"b64":")";
  out += base64(as_bytes(bytes));
  out += R"("})";
}

Status append_json_tensor(std::string& out, const TensorView& tensor, std::uint64_t first, const Shape& shape,
                          JsonBytesForm form) {
  if (tensor.type == DataType::kBytes) {
    append_byte_strings(out, tensor, first, shape, form);
    return {};
  }
  if (const AppendNumbers write = writer_of(tensor.type)) {
    write(out, tensor, first, shape);
    return {};
  }
  return Error{Code::kUnimplemented,
               concat("JSON has no form for values of the type ", data_type_name(tensor.type))};
}

}  // namespace headrace

#include "headrace/serve/protocol/json_tensor.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/serve/protocol/json_writer.h"

namespace headrace {
namespace {

constexpr std::size_t kQuotedTextBytes = 60;
constexpr std::string_view kBase64Member = "b64";

Error invalid_value(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

// The number of bytes that a base64 text encodes, if it is well-formed.
std::uint64_t base64_bytes(std::string_view text) {
  const std::uint64_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  return text.size() / 4 * 3 - std::min<std::uint64_t>(padding, text.size() / 4 * 3);
}

// The position of a value in a tensor, such as "[0][3]"; empty for the tensor itself.
std::string index_text(const std::vector<std::size_t>& index) {
  std::string out;
  for (const std::size_t each : index) out += concat('[', each, ']');
  return out;
}

std::string found_at(const std::vector<std::size_t>& index, const JsonNode& value) {
  return index.empty() ? describe_json(value) : concat(describe_json(value), " at ", index_text(index));
}

// Calls `visit` for each element, until a call fails: returns its error. `index` is the position of `value`.
template <typename Visit>
Status visit_elements(const JsonNode& value, std::span<const std::int64_t> sizes,
                      std::vector<std::size_t>& index, const Visit& visit) {
  if (sizes.empty()) return visit(value);
  if (!value.is_array())
    return invalid_value(concat(found_at(index, value), " stands where a list of ", sizes[0], " should be"));
  const std::vector<JsonNode> elements = value.elements();
  if (elements.size() != static_cast<std::uint64_t>(sizes[0]))
    return invalid_value(concat(found_at(index, value), " should have the size ", sizes[0]));
  index.push_back(0);
  for (const JsonNode& element : elements) {
    HEADRACE_CHECK(visit_elements(element, sizes.subspan(1), index, visit));
    ++index.back();
  }
  index.pop_back();
  return {};
}

Error no_byte_string(const std::vector<std::size_t>& index, const JsonNode& value) {
  return invalid_value(
      concat(found_at(index, value), " is not a byte string: send a string, or {\"b64\": \"…\"}"));
}

std::string_view wanted_text(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "is not a number that float32 can hold; write integers from 2^24 on with .0";
    case DataType::kFloat64:
      return "is not a number that float64 can hold; write integers from 2^53 on with .0";
    case DataType::kBool:
      return "is neither true nor false";
    default:
      return "is not an integer in the range of the type ";
  }
}

}  // namespace

bool is_json_base64(const JsonNode& value) {
  if (!value.is_object() || value.size() != 1) return false;
  const auto text = value.find(kBase64Member);
  return text && text->is_string();
}

Result<Shape> shape_of_json(const JsonNode& value, const Shape& wanted) {
  std::vector<std::int64_t> sizes(wanted.sizes().begin(), wanted.sizes().end());
  std::vector<std::size_t> index;
  JsonNode node = value;
  bool is_empty = false;
  for (std::int64_t& size : sizes) {
    if (is_empty) {
      size = std::max<std::int64_t>(size, 0);
      continue;
    }
    if (!node.is_array())
      return invalid_value(
          concat(found_at(index, node), " stands where a list should be: the shape is ", wanted.text()));
    const auto found = static_cast<std::int64_t>(node.size());
    if (size >= 0 && size != found)
      return invalid_value(
          concat(found_at(index, node), " should have the size ", size, ": the shape is ", wanted.text()));
    size = found;
    is_empty = found == 0;
    index.push_back(0);
    if (!is_empty) node = node.first();
  }
  if (!is_empty && node.is_array())
    return invalid_value(
        concat(found_at(index, node), " stands where a value should be: the shape is ", wanted.text()));
  return Shape(sizes);
}

Result<std::uint64_t> texts_bytes_of_json(const JsonNode& value, const Shape& shape) {
  std::uint64_t bytes = 0;
  std::vector<std::size_t> index;
  HEADRACE_CHECK(visit_elements(value, shape.sizes(), index, [&](const JsonNode& element) -> Status {
    if (element.is_string()) {
      bytes += element.text().size();
    } else if (is_json_base64(element)) {
      bytes += base64_bytes(element.find(kBase64Member)->text());
    } else {
      return no_byte_string(index, element);
    }
    return {};
  }));
  return bytes;
}

Status read_json_tensor(const JsonNode& value, DataType type, const Shape& shape, ReservedRows& rows,
                        std::size_t input, std::uint64_t row) {
  if (type != DataType::kBytes) {
    if (read_json_numbers(value, shape.sizes(), type, rows.at(input, row))) return {};
    return json_misfit(value, type, shape);
  }
  std::uint64_t next = 0;
  std::vector<std::size_t> index;
  return visit_elements(value, shape.sizes(), index, [&](const JsonNode& element) -> Status {
    if (element.is_string()) return rows.set_text(input, row, next++, element.text());
    if (!is_json_base64(element)) return no_byte_string(index, element);
    const std::string_view text = element.find(kBase64Member)->text();
    const auto bytes = text.empty() ? Bytes() : parse_base64(text);
    if (!bytes)
      return invalid_value(concat("the base64 of the byte string ", index_text(index),
                                  " is damaged: RFC 4648 with padding is expected"));
    return rows.set_text(input, row, next++, as_text(*bytes));
  });
}

Status append_texts_of_json(const JsonNode& value, const Shape& shape, std::vector<std::string_view>& texts) {
  std::vector<std::size_t> index;
  return visit_elements(value, shape.sizes(), index, [&](const JsonNode& element) -> Status {
    if (!element.is_string()) return invalid_value(concat(found_at(index, element), " is not a string"));
    texts.push_back(element.text());
    return {};
  });
}

Error json_misfit(const JsonNode& value, DataType type, const Shape& shape) {
  std::vector<std::size_t> index;
  const Status found = visit_elements(value, shape.sizes(), index, [&](const JsonNode& element) -> Status {
    std::byte number[8];
    if (read_json_numbers(element, {}, type, number)) return {};
    const std::string_view wanted = wanted_text(type);
    return invalid_value(
        concat(found_at(index, element), ' ', wanted, wanted.ends_with(' ') ? data_type_name(type) : ""));
  });
  return found ? invalid_value("a value does not fit") : found.error();
}

bool can_be_json(DataType type) { return type == DataType::kBytes || has_json_numbers(type); }

std::string describe_json(const JsonNode& value) {
  switch (value.kind()) {
    case JsonKind::kArray:
      return concat("a list of ", value.size());
    case JsonKind::kObject:
      return is_json_base64(value) ? "a base64 object" : "an object";
    case JsonKind::kString:
      return concat('"', printable_line(value.text(), kQuotedTextBytes), '"');
    default:
      break;
  }
  std::string out;
  append_json_node(out, value);
  return out;
}

}  // namespace headrace

#include "headrace/serve/protocol/json_document.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace {

using Element = simdjson::dom::element;

struct JsonAccess {
  static Element element_of(const JsonNode& node) { return std::bit_cast<Element>(node.place_); }
  static bool has_markers(const JsonNode& node) { return node.has_markers_; }
  static JsonNode node_of(Element element, bool has_markers) {
    JsonNode node;
    node.place_ = std::bit_cast<std::array<std::uint64_t, 2>>(element);
    node.has_markers_ = has_markers;
    return node;
  }
};

namespace {

// Most documents are small, so a thread keeps the memory of its last parser for the next document.
class PooledParser {
 public:
  PooledParser() : parser_(std::exchange(spare(), nullptr)) {
    if (!parser_) parser_ = std::make_unique<simdjson::dom::parser>();
  }
  ~PooledParser() {
    if (parser_->capacity() <= kSpareBytesMax) spare() = std::move(parser_);
  }
  PooledParser(const PooledParser&) = delete;
  PooledParser& operator=(const PooledParser&) = delete;
  simdjson::dom::parser& operator*() { return *parser_; }

 private:
  static constexpr std::size_t kSpareBytesMax = 64 << 10;
  static std::unique_ptr<simdjson::dom::parser>& spare() {
    thread_local std::unique_ptr<simdjson::dom::parser> parser;
    return parser;
  }
  std::unique_ptr<simdjson::dom::parser> parser_;
};

}  // namespace

struct JsonDocument::Tree {
  PooledParser parser{};
  Element root{};
  bool has_markers = false;
  std::size_t text_bytes = 0;
};

namespace {

static_assert(kJsonPaddingBytes >= simdjson::SIMDJSON_PADDING);

constexpr std::size_t kLeastCapacity = 4096;
// A string that begins with this stands for a number that JSON lacks, if the text was made strict.
constexpr std::string_view kMarkerText = "\\u0000";
struct Word {
  std::string_view word;
  std::string_view marker;
  double value;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Word kWords[] = {
    {"NaN", "\"\\u0000n\"", std::numeric_limits<double>::quiet_NaN()},
    {"-NaN", "\"\\u0000n\"", std::numeric_limits<double>::quiet_NaN()},
    {"Infinity", "\"\\u0000+\"", kInfinity},
    {"Inf", "\"\\u0000+\"", kInfinity},
    {"-Infinity", "\"\\u0000-\"", -kInfinity},
    {"-Inf", "\"\\u0000-\"", -kInfinity},
};

// The number that a string stands for in a text with markers.
std::optional<double> marked_number(std::string_view text) {
  if (text.size() != 2 || text[0] != '\0') return std::nullopt;
  for (const Word& word : kWords) {
    if (text[1] == word.marker[word.marker.size() - 2]) return word.value;
  }
  return std::nullopt;
}

std::optional<double> marked_number(Element element, bool has_markers) {
  if (!has_markers || !element.is_string()) return std::nullopt;
  return marked_number(element.get_string().value_unsafe());
}

// A text that was made strict JSON.
struct StrictText {
  std::string text;
  bool has_markers = false;
  bool has_marker_alike = false;  // a string of the client begins like a marker
};

bool is_space(char character) {
  return character == ' ' || character == '\n' || character == '\r' || character == '\t';
}

// Whether a character may occur in a number or in one of the words.
bool is_in_token(char character) {
  return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z') || character == '-' || character == '+' || character == '.';
}

// The position after the string that begins at `begin`.
std::size_t skip_string(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

bool is_beyond_64_bits(std::string_view token) {
  const bool is_negative = token.starts_with('-');
  const std::string_view digits = token.substr(is_negative ? 1 : 0);
  if (digits.size() < 19 || digits.find_first_not_of("0123456789") != digits.npos || digits[0] == '0')
    return false;
  return is_negative ? !parse_number<std::int64_t>(token) : !parse_number<std::uint64_t>(token);
}

// Makes a text strict in one pass: words become markers, long integers become doubles, and the text ends
// after its first value. nullopt if the text is strict already.
std::optional<StrictText> make_strict(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  StrictText out;
  std::size_t copied = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  bool is_changed = copied != 0;
  std::size_t depth = 0;
  std::size_t i = copied;
  const auto copy_to = [&](std::size_t end) {
    out.text += text.substr(copied, end - copied);
    copied = end;
  };
  while (i < text.size()) {
    const char character = text[i];
    if (is_space(character) || character == ',' || character == ':') {
      ++i;
      continue;
    }
    if (character == '"') {
      out.has_marker_alike |= text.substr(i + 1).starts_with(kMarkerText);
      i = skip_string(text, i);
    } else if (character == '[' || character == '{') {
      ++depth;
      ++i;
      continue;
    } else if (character == ']' || character == '}') {
      if (depth > 0) --depth;
      ++i;
    } else {
      const std::size_t begin = i;
      while (i < text.size() && is_in_token(text[i])) ++i;
      if (i == begin) ++i;  // not JSON
      const std::string_view token = text.substr(begin, i - begin);
      for (const Word& word : kWords) {
        if (token != word.word) continue;
        copy_to(begin);
        out.text += word.marker;
        copied = i;
        out.has_markers = is_changed = true;
      }
      if (is_beyond_64_bits(token)) {
        copy_to(i);
        out.text += "e0";
        is_changed = true;
      }
    }
    if (depth == 0) break;
  }
  copy_to(i);
  is_changed |= text.find_first_not_of(" \n\r\t", i) != text.npos;
  if (!is_changed) return std::nullopt;
  return out;
}

Error parse_error(simdjson::error_code code, std::string_view text) {
  if (code == simdjson::CAPACITY || code == simdjson::MEMALLOC)
    return {Code::kResourceExhausted, concat("there is no memory to parse ", text.size(), " bytes of JSON")};
  const Error too_deep{Code::kInvalidArgument,
                       concat("the JSON text nests deeper than ", kJsonDepthLimit, " levels")};
  if (code == simdjson::DEPTH_ERROR) return too_deep;
  // The other parser tells where the fault is, but takes ten times as long.
  constexpr std::size_t kExplainedBytes = 1 << 20;
  if (text.size() <= kExplainedBytes) {
    const auto fault = find_json_fault(text);
    if (fault && fault->kind == JsonFault::Kind::kTooDeep) return too_deep;
    if (fault) return {Code::kInvalidArgument, concat("the text is not JSON: ", fault->message)};
  }
  return {Code::kInvalidArgument, concat("the text is not JSON: ", simdjson::error_message(code))};
}

// REQUIRES: the element is an array (array_of) or an object (object_of).
simdjson::dom::array array_of(Element element) { return element.get_array().value_unsafe(); }
simdjson::dom::object object_of(Element element) { return element.get_object().value_unsafe(); }

// Whether a stricter text cannot change the result.
bool is_final(simdjson::error_code code) {
  return code == simdjson::SUCCESS || code == simdjson::CAPACITY || code == simdjson::MEMALLOC ||
         code == simdjson::DEPTH_ERROR;
}

simdjson::error_code parse_into(simdjson::dom::parser& parser, Element& root, std::string_view text,
                                bool is_padded) {
  if (parser.capacity() < text.size() || parser.max_depth() != kJsonDepthLimit) {
    if (const auto code = parser.allocate(std::max(text.size(), kLeastCapacity), kJsonDepthLimit))
      return code;
  }
  return parser.parse(text.data(), text.size(), !is_padded).get(root);
}

template <typename T>
bool read_number(Element element, bool has_markers, T& out) {
  using simdjson::dom::element_type;
  constexpr bool kIsFloating = std::is_floating_point_v<T>;
  const element_type type = element.type();
  if constexpr (std::is_same_v<T, bool>) {
    if (type != element_type::BOOL) return false;
    out = element.get_bool().value_unsafe();
    return true;
  }
  if (type == element_type::DOUBLE) {
    const double value = element.get_double().value_unsafe();
    if (!kIsFloating || std::abs(value) > static_cast<double>(std::numeric_limits<T>::max())) return false;
    out = static_cast<T>(value);
    return true;
  }
  if (type == element_type::INT64) {
    const std::int64_t value = element.get_int64().value_unsafe();
    if constexpr (kIsFloating) {
      constexpr std::int64_t kMax = (std::int64_t{1} << std::numeric_limits<T>::digits) - 1;
      if (value > kMax || value < -kMax) return false;
    } else if (!std::in_range<std::conditional_t<std::is_same_v<T, bool>, int, T>>(value)) {
      return false;
    }
    out = static_cast<T>(value);
    return true;
  }
  if (type == element_type::UINT64) {
    if (!std::is_same_v<T, std::uint64_t>) return false;
    out = static_cast<T>(element.get_uint64().value_unsafe());
    return true;
  }
  const auto marked = marked_number(element, has_markers);
  if (!kIsFloating || !marked) return false;
  out = static_cast<T>(*marked);
  return true;
}

template <typename T>
bool read_one(Element element, bool has_markers, std::byte*& out) {
  T value{};
  if (!read_number(element, has_markers, value)) return false;
  std::memcpy(out, &value, sizeof value);
  out += sizeof value;
  return true;
}

template <typename T>
bool read_list(Element element, bool has_markers, std::span<const std::int64_t> sizes, std::byte*& out) {
  if (sizes.empty()) return read_one<T>(element, has_markers, out);
  if (!element.is_array()) return false;
  std::int64_t left = sizes[0];
  const auto inner = sizes.subspan(1);
  for (const Element child : array_of(element)) {
    if (left-- == 0) return false;
    const bool is_read =
        inner.empty() ? read_one<T>(child, has_markers, out) : read_list<T>(child, has_markers, inner, out);
    if (!is_read) return false;
  }
  return left == 0;
}

using ReadList = bool (*)(Element, bool, std::span<const std::int64_t>, std::byte*&);

ReadList reader_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return read_list<float>;
    case DataType::kFloat64:
      return read_list<double>;
    case DataType::kInt8:
      return read_list<std::int8_t>;
    case DataType::kInt16:
      return read_list<std::int16_t>;
    case DataType::kInt32:
      return read_list<std::int32_t>;
    case DataType::kInt64:
      return read_list<std::int64_t>;
    case DataType::kUint8:
      return read_list<std::uint8_t>;
    case DataType::kUint16:
      return read_list<std::uint16_t>;
    case DataType::kUint32:
      return read_list<std::uint32_t>;
    case DataType::kUint64:
      return read_list<std::uint64_t>;
    case DataType::kBool:
      return read_list<bool>;
    default:
      return nullptr;
  }
}

template <typename List>
std::size_t count_of(const List& list) {
  constexpr std::size_t kSaturated = 0xffffff;  // simdjson stops counting here
  const std::size_t count = list.size();
  if (count < kSaturated) return count;
  return static_cast<std::size_t>(std::distance(list.begin(), list.end()));
}

}  // namespace

JsonKind JsonNode::kind() const {
  using simdjson::dom::element_type;
  const Element element = JsonAccess::element_of(*this);
  switch (element.type()) {
    case element_type::ARRAY:
      return JsonKind::kArray;
    case element_type::OBJECT:
      return JsonKind::kObject;
    case element_type::INT64:
      return JsonKind::kInt64;
    case element_type::UINT64:
      return JsonKind::kUint64;
    case element_type::DOUBLE:
      return JsonKind::kDouble;
    case element_type::STRING:
      return marked_number(element, has_markers_) ? JsonKind::kDouble : JsonKind::kString;
    case element_type::BOOL:
      return JsonKind::kBool;
    case element_type::NULL_VALUE:
      break;
  }
  return JsonKind::kNull;
}

bool JsonNode::boolean() const { return JsonAccess::element_of(*this).get_bool().value_unsafe(); }
std::int64_t JsonNode::int64() const { return JsonAccess::element_of(*this).get_int64().value_unsafe(); }
std::uint64_t JsonNode::uint64() const { return JsonAccess::element_of(*this).get_uint64().value_unsafe(); }
double JsonNode::number() const {
  const Element element = JsonAccess::element_of(*this);
  const auto marked = marked_number(element, has_markers_);
  return marked ? *marked : element.get_double().value_unsafe();
}
std::string_view JsonNode::text() const { return JsonAccess::element_of(*this).get_string().value_unsafe(); }

std::size_t JsonNode::size() const {
  const Element element = JsonAccess::element_of(*this);
  if (element.is_array()) return count_of(array_of(element));
  return count_of(object_of(element));
}

JsonNode JsonNode::first() const {
  return JsonAccess::node_of(*array_of(JsonAccess::element_of(*this)).begin(), has_markers_);
}

std::vector<JsonNode> JsonNode::elements() const {
  std::vector<JsonNode> out;
  out.reserve(size());
  for (const Element child : array_of(JsonAccess::element_of(*this)))
    out.push_back(JsonAccess::node_of(child, has_markers_));
  return out;
}

std::vector<JsonNodeMember> JsonNode::members() const {
  std::vector<JsonNodeMember> out;
  out.reserve(size());
  for (const auto [name, child] : object_of(JsonAccess::element_of(*this)))
    out.push_back({name, JsonAccess::node_of(child, has_markers_)});
  return out;
}

std::optional<JsonNode> JsonNode::find(std::string_view name) const {
  const Element element = JsonAccess::element_of(*this);
  if (!element.is_object()) return std::nullopt;
  for (const auto [key, child] : object_of(element)) {
    if (key == name) return JsonAccess::node_of(child, has_markers_);
  }
  return std::nullopt;
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, bool is_padded) {
  if (text.empty()) return Error{Code::kInvalidArgument, "the text is empty, so it is not JSON"};
  const auto tree = std::make_shared<Tree>();
  tree->text_bytes = text.size();
  const auto code = parse_into(*tree->parser, tree->root, text, is_padded);
  if (code == simdjson::SUCCESS) return JsonDocument(tree);
  if (is_final(code)) return parse_error(code, text);
  const auto strict = make_strict(text);
  if (!strict) return parse_error(code, text);
  if (strict->has_markers && strict->has_marker_alike)
    return Error{Code::kInvalidArgument,
                 "the text has NaN or Infinity, and a string that begins with \\u0000: "
                 "send such strings as base64"};
  const auto strict_code = parse_into(*tree->parser, tree->root, strict->text, false);
  if (strict_code != simdjson::SUCCESS) return parse_error(strict_code, strict->text);
  tree->has_markers = strict->has_markers;
  return JsonDocument(tree);
}

JsonNode JsonDocument::root() const { return JsonAccess::node_of(tree_->root, tree_->has_markers); }

std::size_t JsonDocument::text_bytes() const { return tree_->text_bytes; }

bool read_json_numbers(const JsonNode& value, std::span<const std::int64_t> sizes, DataType type,
                       std::byte* out) {
  return reader_of(type)(JsonAccess::element_of(value), JsonAccess::has_markers(value), sizes, out);
}

bool has_json_numbers(DataType type) { return reader_of(type) != nullptr; }

}  // namespace headrace

#include "headrace/prepare/table/json_cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/prepare/row/byte_strings.h"

namespace headrace {
namespace {

constexpr std::size_t kQuotedJsonBytes = 60;
constexpr std::string_view kBase64Member = "b64";
constexpr std::size_t kParserBytes = 160;
constexpr std::string_view kSpaces = " \t\r\n";

using Problem = std::optional<RowProblem>;

std::string column_text(std::string_view name) {
  return concat("column \"", printable_line(name, kQuotedJsonBytes), "\"");
}

Problem check_json(std::string_view text) {
  const std::optional<JsonFault> fault = find_json_fault(text);
  if (!fault) return std::nullopt;
  if (fault->kind == JsonFault::Kind::kTooDeep)
    return RowProblem{"JSON that nests too deep", concat("deeper than ", kJsonDepthLimit, " levels")};
  const bool is_too_large = fault->kind == JsonFault::Kind::kNumberTooLarge;
  std::string_view complaint = fault->message;
  constexpr std::string_view kFirstLine = "line 1, ";
  if (complaint.starts_with(kFirstLine)) complaint.remove_prefix(kFirstLine.size());
  return RowProblem{is_too_large ? "number too large" : "not JSON", printable_line(complaint, kParserBytes)};
}

bool is_whole(std::string_view number) { return number.find_first_of(".eE") == number.npos; }

std::optional<float> nearest_float(std::string_view number) {
  float value = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc{}) return value;
  double wide = 0;  // stays 0 if the number is too small for a double; the parser refused too large numbers
  std::from_chars(number.data(), number.data() + number.size(), wide);
  if (std::abs(wide) > 1) return std::nullopt;
  return number.starts_with('-') ? -0.0F : 0.0F;
}

// Walks a text that was already found to be JSON.
class ObjectReader {
 public:
  ObjectReader(std::string_view text, std::uint64_t cell_limit_bytes, RowCells& cells)
      : text_(text), cell_limit_bytes_(cell_limit_bytes), cells_(cells) {}

  Problem read() {
    skip_spaces();
    if (!take('{')) return RowProblem{"not a JSON object", printable_line(text_, kQuotedJsonBytes)};
    skip_spaces();
    while (!take('}')) {
      const std::string_view name = take_text();
      skip_spaces();
      take(':');
      skip_spaces();
      if (cells_.size() == kMaxColumns)
        return RowProblem{"too many columns", concat("more than ", kMaxColumns)};
      if (Problem problem = read_value(name)) return problem;
      skip_spaces();
      take(',');
      skip_spaces();
      // The parser takes a zero byte for the end of the text.
      if (at_ >= text_.size()) return RowProblem{"not JSON", "the object has no end"};
    }
    skip_spaces();
    if (at_ < text_.size())
      return RowProblem{"not JSON", concat("something follows the object at its byte ", at_ + 1)};
    return find_repeated_name();
  }

 private:
  void skip_spaces() { at_ = std::min(text_.find_first_not_of(kSpaces, at_), text_.size()); }

  bool take(char character) {
    const bool is_there = at_ < text_.size() && text_[at_] == character;
    at_ += is_there ? 1 : 0;
    return is_there;
  }

  // Takes the string that begins here, up to and including its closing quote.
  std::string_view string_token() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
    return text_.substr(begin, at_ - begin);
  }

  static bool is_escaped(std::string_view token) { return token.find('\\') != token.npos; }
  static std::string_view without_quotes(std::string_view token) { return token.substr(1, token.size() - 2); }
  static std::string unescaped(std::string_view token) { return parse_json(token).value_or("").text(); }

  // Takes a string and decodes it.
  std::string_view take_text() {
    const std::string_view token = string_token();
    return is_escaped(token) ? cells_.keep(unescaped(token)) : without_quotes(token);
  }

  // Takes a number or a word.
  std::string_view take_plain() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  // Takes a list or an object.
  std::string_view take_nested() {
    const std::size_t begin = at_;
    int depth = 0;
    do {
      const char character = text_[at_];
      if (character == '"') {
        string_token();
        continue;
      }
      depth += character == '[' || character == '{' ? 1 : character == ']' || character == '}' ? -1 : 0;
      ++at_;
    } while (depth > 0 && at_ < text_.size());
    return text_.substr(begin, at_ - begin);
  }

  Problem read_value(std::string_view name) {
    const char first = at_ < text_.size() ? text_[at_] : '\0';
    if (first == '"') return add_bytes(name, take_text());
    if (first == '[' || first == '{') {
      const std::size_t begin = at_;
      const std::string_view token = take_nested();
      if (is_list_of_numbers(token)) return add_numbers(name, token);
      if (!is_list_of_texts(token)) return add_bytes(name, token);
      at_ = begin;
      return add_texts(name);
    }
    const std::string_view token = take_plain();
    if (token == "null") {
      cells_.add_missing(name);
      return std::nullopt;
    }
    return add_numbers(name, token == "true" ? "1" : token == "false" ? "0" : token);
  }

  Problem too_large(std::string_view name, std::uint64_t size) const {
    return RowProblem{"cell larger than the limit", concat(column_text(name), ": ", size, " bytes, at most ",
                                                           cell_limit_bytes_, " are read")};
  }

  Problem add_bytes(std::string_view name, std::string_view value) {
    if (value.size() > cell_limit_bytes_) return too_large(name, value.size());
    cells_.add_bytes(name, as_bytes(value));
    return std::nullopt;
  }

  static bool is_list_of_numbers(std::string_view token) {
    return token.starts_with('[') &&
           token.substr(1, token.size() - 2).find_first_not_of("+-.0123456789eE, \t\r\n") == token.npos;
  }

  // Whether the list has only texts, and at least one.
  static bool is_list_of_texts(std::string_view token) {
    bool is_in_text = false, has_text = false;
    for (std::size_t at = 1; at + 1 < token.size(); ++at) {
      if (token[at] == '"') {
        is_in_text = !is_in_text;
        has_text = true;
      } else if (!is_in_text && token[at] != ',' && kSpaces.find(token[at]) == kSpaces.npos) {
        return false;
      } else if (token[at] == '\\') {
        ++at;
      }
    }
    return token.starts_with('[') && has_text;
  }

  // Adds the list of texts that begins here, and moves to its end.
  Problem add_texts(std::string_view name) {
    const std::size_t begin = cells_.made().size();
    take('[');
    skip_spaces();
    while (!take(']')) {
      const std::string_view token = string_token();
      const std::string made = is_escaped(token) ? unescaped(token) : "";
      const std::string_view text = is_escaped(token) ? std::string_view(made) : without_quotes(token);
      if (text.size() > kMostByteStringBytes) return too_large(name, text.size());
      append_byte_string(cells_.made(), as_bytes(text));
      if (Problem problem = check_made(name, begin)) return problem;
      skip_spaces();
      take(',');
      skip_spaces();
    }
    cells_.add_made(name, CellKind::kByteStrings, begin);
    return std::nullopt;
  }

  Problem check_made(std::string_view name, std::size_t begin) {
    const std::size_t size = cells_.made().size();
    if (size - begin > cell_limit_bytes_) return too_large(name, size - begin);
    if (size <= row_limit_bytes(cell_limit_bytes_)) return std::nullopt;
    return RowProblem{"row larger than the limit", concat("numbers and lists of more than ",
                                                          row_limit_bytes(cell_limit_bytes_), " bytes")};
  }

  // Adds a number or a list of numbers.
  Problem add_numbers(std::string_view name, std::string_view token) {
    const CellKind kind = is_whole(token) ? CellKind::kInt64s : CellKind::kFloats;
    const std::size_t begin = cells_.made().size();
    constexpr std::string_view kBetween = "[], \t\r\n";
    for (std::size_t at = token.find_first_not_of(kBetween); at < token.size();) {
      const std::size_t end = std::min(token.find_first_of(kBetween, at), token.size());
      if (Problem problem = append_number(name, kind, token.substr(at, end - at))) return problem;
      if (Problem problem = check_made(name, begin)) return problem;
      at = token.find_first_not_of(kBetween, end);
    }
    cells_.add_made(name, kind, begin);
    return std::nullopt;
  }

  Problem append_number(std::string_view name, CellKind kind, std::string_view number) {
    const auto too_large_for = [&](std::string_view type) {
      return RowProblem{"number too large", concat(column_text(name), ": ",
                                                   printable_line(number, kQuotedJsonBytes), " as ", type)};
    };
    if (kind == CellKind::kInt64s) {
      const auto value = parse_number<std::int64_t>(number);
      if (!value) return too_large_for("int64");
      append_little_endian(cells_.made(), *value);
    } else {
      const std::optional<float> value = nearest_float(number);
      if (!value) return too_large_for("float32");
      append_little_endian(cells_.made(), *value);
    }
    return std::nullopt;
  }

  Problem find_repeated_name() const {
    const std::optional<std::string_view> name = cells_.repeated_name();
    if (!name) return std::nullopt;
    return RowProblem{"repeated key", column_text(*name)};
  }

  const std::string_view text_;
  const std::uint64_t cell_limit_bytes_;
  RowCells& cells_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<RowProblem> read_json_object(std::string_view text, std::uint64_t cell_limit_bytes,
                                           RowCells& cells) {
  if (Problem problem = check_json(text)) return problem;
  return ObjectReader(text, cell_limit_bytes, cells).read();
}

std::optional<Bytes> bytes_of_base64_object(std::string_view value) {
  if (!value.starts_with('{') || value.find(kBase64Member) == value.npos) return std::nullopt;
  const auto object = parse_json(value);
  if (!object || !object->is_object() || object->members().size() != 1) return std::nullopt;
  const Json& text = (*object)[kBase64Member];
  return text.is_string() ? parse_base64(text.text()) : std::nullopt;
}

}  // namespace headrace

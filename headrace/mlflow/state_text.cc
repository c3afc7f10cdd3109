#include "headrace/mlflow/state_text.h"

#include <charconv>
#include <cmath>

#include "headrace/base/bytes.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/track/json_number.h"
#include "headrace/track/mlflow_states.h"

namespace headrace::mlflow {
namespace {

constexpr int kVersion = 1;
constexpr std::string_view kDigest = "zz_sha256";
constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_escape(std::string& out, unsigned unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHexDigits[unit >> shift & 0xf];
}

void append_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const Utf8Character next = first_utf8_character(text);
    text.remove_prefix(next.length);
    const char32_t code = next.code_point;
    constexpr std::string_view kShort = "\"\\\n\r\t\f\b";
    constexpr std::string_view kLetters = "\"\\nrtfb";
    if (const std::size_t at = code < 0x80 ? kShort.find(static_cast<char>(code)) : kShort.npos;
        at != kShort.npos) {
      out += '\\';
      out += kLetters[at];
    } else if (code >= ' ' && code <= '~') {
      out += static_cast<char>(code);
    } else if (code < 0x10000) {
      append_escape(out, code);
    } else {
      append_escape(out, 0xd800 + ((code - 0x10000) >> 10));
      append_escape(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
  }
  out += '"';
}

// Appends a number as Python's repr does: the shortest digits that read back as the same number, with an
// exponent for numbers below 1e-4 or from 1e16.
void append_number(std::string& out, double value) {
  char buffer[40];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  if (text.starts_with('-')) {
    out += '-';
    text.remove_prefix(1);
  }
  const std::size_t mark = text.find('e');
  int exponent = 0;
  const char* const digits_begin = text.data() + mark + (text[mark + 1] == '+' ? 2 : 1);
  std::from_chars(digits_begin, text.data() + text.size(), exponent);
  std::string digits(text.substr(0, mark));
  std::erase(digits, '.');
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out += concat('.', std::string_view(digits).substr(1));
    out += text.substr(mark);
    return;
  }
  if (exponent < 0) {
    out += concat("0.", std::string(static_cast<std::size_t>(-exponent - 1), '0'), digits);
    return;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) digits.append(whole + 1 - digits.size(), '0');
  out += concat(std::string_view(digits).substr(0, whole), '.', std::string_view(digits).substr(whole));
}

void append_value(std::string& out, const Json& value) {
  if (value.is_string()) return append_text(out, value.text());
  if (value.is_number() && !value.is_integer()) return append_number(out, value.as<double>());
  if (value.is_array()) {
    out += '[';
    for (const char* separator = ""; const Json& each : value.values()) {
      out += std::exchange(separator, ",");
      append_value(out, each);
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    for (const char* separator = ""; const auto& [name, each] : value.members()) {
      out += std::exchange(separator, ",");
      append_text(out, name);
      out += ':';
      append_value(out, each);
    }
    out += '}';
  } else {
    out += value.dump();
  }
}

std::string digest_member(std::string_view digest) { return concat(",\"", kDigest, "\":\"", digest, "\"}"); }

}  // namespace

std::string canonical_json(const Json& value) {
  std::string out;
  append_value(out, value);
  return out;
}

std::string serialize_state(const Json& state, std::string_view kind) {
  Json whole = state;
  whole["format"] = kind;
  whole["version"] = kVersion;
  std::string text = canonical_json(whole);
  const std::string digest = sha256_hex(as_bytes(text));
  text.pop_back();
  return text + digest_member(digest) + "\n";
}

Result<Json> parse_state(std::string_view text, std::string_view kind, std::string_view place) {
  if (text.size() > kStateBytesMax)
    return Error{Code::kDataLoss, concat(place, " has more than ", kStateBytesMax, " bytes: it is no state")};
  if (const Status checked = check_mlflow_state(as_bytes(text), kind); !checked)
    return Error{checked.error().code, concat(place, ": ", checked.error().message)};
  return read_json(text, concat(place, " is no state of the kind ", kind), [](Json whole) -> Result<Json> {
    for (const char* name : {"format", "version", "zz_sha256"}) whole.members().erase(name);
    return whole;
  });
}

}  // namespace headrace::mlflow

#pragma once

/// \file Text: joining, splitting, UTF-8, the nearest of several names, sizes for people.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace headrace {

namespace text_internal {
inline void append_one(std::string& out, std::string_view text) { out += text; }
inline void append_one(std::string& out, char character) { out += character; }
template <typename T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, char>) void append_one(std::string& out, T number) {
  char digits[32];
  if constexpr (std::is_same_v<T, bool>) {
    out += number ? "true" : "false";
  } else {
    out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
}
}  // namespace text_internal

/// concat("record ", 17, " of ", url): texts and numbers one after another. Floating point is written
/// shortest round-trip; no locale is involved.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (text_internal::append_one(out, parts), ...);
  return out;
}

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
/// Without leading and trailing ASCII white space.
std::string_view trim(std::string_view text);
/// ASCII only.
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
/// `number` in decimal, padded with zeros to at least `width` digits.
std::string zero_padded(std::uint64_t number, int width);
/// Lower-case hexadecimal, most significant digit first, always 16 digits (8 for a CRC).
std::string hex64(std::uint64_t value);
std::string hex32(std::uint32_t value);

/// The whole text as a decimal integer; none if anything else is in it or it does not fit.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// "300MB", "1 GiB", "64k" in bytes: decimal and binary prefixes, a bare number is bytes. None if not a size.
std::optional<std::uint64_t> parse_size_bytes(std::string_view text);
/// "12.3 MB".
std::string format_size(std::uint64_t bytes);

/// The first `max_bytes` as one line of printable UTF-8, for text of others in a message.
std::string printable_line(std::string_view text, std::size_t max_bytes);

/// The whole text as printable UTF-8, with its line breaks and tabs: a terminal obeys no text of others.
std::string printable_text(std::string_view text);

/// The candidate that is nearest to `name` in edit distance, if near enough to be what was meant.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// The character at the start of a text, and how many bytes it takes; ill-formed bytes are U+FFFD, as below.
struct Utf8Character {
  char32_t code_point;
  std::size_t length;
  bool valid;
};
/// REQUIRES: !bytes.empty()
Utf8Character first_utf8_character(std::string_view bytes);

struct Utf8Text {
  std::string text;
  std::uint64_t replaced = 0;  // number of U+FFFD that were put in
};
/// Decodes bytes that should be UTF-8 as Python's errors="replace" does: each maximal prefix of a well-formed
/// sequence, or single byte, that is not valid becomes one U+FFFD (Unicode 15, section 3.9, table 3-7).
Utf8Text replace_invalid_utf8(std::string_view bytes);
bool is_valid_utf8(std::string_view bytes);

}  // namespace headrace

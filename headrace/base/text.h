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

/// Concatenates texts and numbers: concat("record ", 17, " of ", url). Writes a floating-point number in the
/// shortest form that reads back as the same number. Ignores the locale.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (text_internal::append_one(out, parts), ...);
  return out;
}

/// The parts between the separators, including empty ones. An empty text gives one empty part.
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
/// A view of `text` without leading and trailing ASCII white space.
std::string_view trim(std::string_view text);
/// Change ASCII letters only.
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
/// `number` in decimal, padded with zeros to at least `width` digits.
std::string zero_padded(std::uint64_t number, int width);
/// Lower-case hexadecimal, most significant digit first: always 16 digits, or 8.
std::string hex64(std::uint64_t value);
std::string hex32(std::uint32_t value);

/// The whole text as a decimal number of type T. None if the text has anything else, such as white space or a
/// '+', or if the number does not fit.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// Parses a size in bytes: "300MB", "1 GiB", "64k", "1.5 TB". Takes decimal and binary prefixes from k to P,
/// in any case of letters; a bare number is in bytes. None if `text` is not a size, or from 9.2e18 bytes on.
std::optional<std::uint64_t> parse_size_bytes(std::string_view text);
/// A size with a decimal prefix and one digit after the point: "12.3 MB"; "512 B" below 1 kB.
std::string format_size(std::uint64_t bytes);

/// The first `max_bytes` bytes as one line of printable UTF-8, to quote text from outside in a message.
/// Control characters, line separators and marks of writing direction become spaces; ill-formed bytes become
/// U+FFFD. The result may be longer than `max_bytes`.
std::string printable_line(std::string_view text, std::size_t max_bytes);

/// The whole text in the same form, but with its line breaks and tabs. So text from outside cannot control a
/// terminal.
std::string printable_text(std::string_view text);

/// The candidate that is nearest to `name` in edit distance. None if that distance is greater than two and
/// greater than a third of the length of `name`.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// The character at the start of a text, and how many bytes it takes. Ill-formed bytes give U+FFFD, as for
/// `replace_invalid_utf8`; `valid` is false then.
struct Utf8Character {
  char32_t code_point;
  std::size_t length;
  bool valid;
};
/// REQUIRES: !bytes.empty()
Utf8Character first_utf8_character(std::string_view bytes);

struct Utf8Text {
  std::string text;
  std::uint64_t replaced = 0;  // number of U+FFFD that were inserted
};
/// Decodes bytes that should be UTF-8, as Python's errors="replace" does. Each invalid part becomes one
/// U+FFFD: the longest prefix of a well-formed sequence, or else a single byte (Unicode 15, section 3.9,
/// table 3-7).
Utf8Text replace_invalid_utf8(std::string_view bytes);
bool is_valid_utf8(std::string_view bytes);

}  // namespace headrace

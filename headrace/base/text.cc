#include "headrace/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

namespace headrace {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

std::string hex(std::uint64_t value, int digits) {
  std::string out(digits, '0');
  for (int i = digits - 1; i >= 0; --i, value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

// The length of the ASCII text at the start of `bytes`, rounded down to a multiple of eight.
std::size_t ascii_prefix(std::string_view bytes) {
  std::size_t length = 0;
  for (std::uint64_t word; length + 8 <= bytes.size(); length += 8) {
    std::memcpy(&word, bytes.data() + length, 8);
    if ((word & 0x8080808080808080U) != 0) break;
  }
  return length;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({diagonal + (a[i] == b[j] ? 0 : 1), above + 1, row[j] + 1});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string zero_padded(std::uint64_t number, int width) {
  std::string digits = concat(number);
  if (digits.size() < static_cast<std::size_t>(width)) digits.insert(0, width - digits.size(), '0');
  return digits;
}

std::string hex64(std::uint64_t value) { return hex(value, 16); }
std::string hex32(std::uint32_t value) { return hex(value, 8); }

std::optional<std::uint64_t> parse_size_bytes(std::string_view text) {
  text = trim(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  std::string unit = to_lower(trim(text.substr(end - text.data())));
  if (!unit.empty() && unit.back() == 'b') unit.pop_back();
  static constexpr std::string_view kPrefixes = "kmgtp";
  double factor = 1;
  if (!unit.empty()) {
    const std::size_t power = kPrefixes.find(unit[0]);
    if (power == std::string_view::npos || unit.size() > 2 || (unit.size() == 2 && unit[1] != 'i'))
      return std::nullopt;
    factor = std::pow(unit.size() == 2 ? 1024.0 : 1000.0, static_cast<double>(power + 1));
  }
  const double bytes = number * factor;
  if (!(bytes < 9.2e18)) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(bytes));
}

std::string format_size(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) value /= 1000, ++unit;
  char out[32];
  std::snprintf(out, sizeof out, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return out;
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

Utf8Character first_utf8_character(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length == 0) return {0xfffd, 1, false};
  // The range of the second byte excludes overlong forms, surrogates and code points beyond U+10FFFF.
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  char32_t code_point = lead & (0x7f >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= bytes.size()) return {0xfffd, i, false};
    const bool fits = i == 1 ? at(i) >= low && at(i) <= high : at(i) >= 0x80 && at(i) <= 0xbf;
    if (!fits) return {0xfffd, i, false};
    code_point = code_point << 6 | (at(i) & 0x3f);
  }
  return {code_point, length, true};
}

Utf8Text replace_invalid_utf8(std::string_view bytes) {
  Utf8Text out;
  out.text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t ascii = ascii_prefix(bytes);
    out.text += bytes.substr(0, ascii);
    bytes.remove_prefix(ascii);
    if (bytes.empty()) break;
    const Utf8Character character = first_utf8_character(bytes);
    out.text += character.valid ? bytes.substr(0, character.length) : "\xef\xbf\xbd";
    out.replaced += character.valid ? 0 : 1;
    bytes.remove_prefix(character.length);
  }
  return out;
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    bytes.remove_prefix(ascii_prefix(bytes));
    if (bytes.empty()) break;
    const Utf8Character character = first_utf8_character(bytes);
    if (!character.valid) return false;
    bytes.remove_prefix(character.length);
  }
  return true;
}

namespace {

// Whether the character could control a terminal, or make it show another text: control characters (C0, C1,
// DEL), line separators, and marks that change the direction of writing.
bool affects_display(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f || c == 0x2028 ||
         c == 0x2029 || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

std::string printable(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_utf8_character(text);
    const std::string_view bytes = text.substr(0, character.length);
    if (!character.valid) {
      out += "\xef\xbf\xbd";
    } else if (affects_display(character.code_point) && kept.find(bytes) == kept.npos) {
      out += ' ';
    } else {
      out += bytes;
    }
    text.remove_prefix(character.length);
  }
  return out;
}

}  // namespace

std::string printable_line(std::string_view text, std::size_t max_bytes) {
  return printable(text.substr(0, max_bytes), "");
}

std::string printable_text(std::string_view text) { return printable(text, "\n\t"); }

}  // namespace headrace

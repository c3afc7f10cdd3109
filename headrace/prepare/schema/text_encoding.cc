#include "headrace/prepare/schema/text_encoding.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// The characters for the bytes 0x80 to 0x9f; 0 if a byte stands for no character.
constexpr std::array<char16_t, 32> kWindows1252 = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};
constexpr char16_t kReplacement = 0xFFFD;

void append_character(char16_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

bool is_ascii(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

TextEncoding text_encoding_from_name(std::string_view name) {
  if (name == "latin-1") return TextEncoding::kLatin1;
  return name == "windows-1252" ? TextEncoding::kWindows1252 : TextEncoding::kUtf8;
}

DecodedText decode_text(std::string_view bytes, TextEncoding encoding, std::string& storage) {
  if (is_ascii(bytes)) return {bytes};
  if (encoding == TextEncoding::kUtf8) {
    if (is_valid_utf8(bytes)) return {bytes};
    Utf8Text text = replace_invalid_utf8(bytes);
    storage = std::move(text.text);
    return {storage, text.replaced};
  }
  std::uint64_t replaced = 0;
  storage.clear();
  for (const char c : bytes) {
    char16_t code = static_cast<unsigned char>(c);
    const bool is_moved = encoding == TextEncoding::kWindows1252 && code >= 0x80 && code < 0xA0;
    if (is_moved) code = kWindows1252[code - 0x80U];
    if (is_moved && code == 0) {
      code = kReplacement;
      ++replaced;
    }
    append_character(code, storage);
  }
  return {storage, replaced};
}

}  // namespace headrace

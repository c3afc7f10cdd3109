#pragma once

/// \file Bytes of a named encoding to UTF-8.

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

enum class TextEncoding : std::uint8_t { kUtf8, kLatin1, kWindows1252 };

/// "utf-8", "latin-1", "windows-1252". REQUIRES: one of them
TextEncoding text_encoding_from_name(std::string_view name);

struct DecodedText {
  /// Views the input where nothing had to be changed, else `storage`.
  std::string_view text;
  std::uint64_t replaced = 0;  // places that are not of the encoding, and became U+FFFD
};
/// Replaces what is in `storage`, if it needs it.
/// Source of windows-1252: encoding.spec.whatwg.org, but that its five bytes without a character are not of
/// the encoding.
DecodedText decode_text(std::string_view bytes, TextEncoding encoding, std::string& storage);

}  // namespace headrace

#pragma once

/// \file Decodes text in a named encoding to UTF-8.

#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

enum class TextEncoding : std::uint8_t { kUtf8, kLatin1, kWindows1252 };

/// REQUIRES: `name` is "utf-8", "latin-1" or "windows-1252"
TextEncoding text_encoding_from_name(std::string_view name);

struct DecodedText {
  /// Views the input if nothing had to change, else `storage`.
  std::string_view text;
  std::uint64_t replaced = 0;  // places that are not valid in the encoding, and became U+FFFD
};
/// Decodes `bytes`. Overwrites `storage` if the text has to change. The table of windows-1252 is that of
/// encoding.spec.whatwg.org, except that its five unassigned bytes count as invalid.
DecodedText decode_text(std::string_view bytes, TextEncoding encoding, std::string& storage);

}  // namespace headrace

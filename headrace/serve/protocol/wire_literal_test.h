#pragma once

/// \file For tests: messages in hexadecimal, as written by protobuf's Python classes.

#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"

namespace headrace {

inline Bytes from_hexadecimal(std::string_view text) {
  const auto digit = [](char letter) { return letter <= '9' ? letter - '0' : letter - 'a' + 10; };
  Bytes out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<std::byte>(digit(text[i]) * 16 + digit(text[i + 1])));
  return out;
}

inline std::string to_hexadecimal(BytesView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte byte : bytes) {
    out += kDigits[std::to_integer<unsigned>(byte) >> 4];
    out += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

/// "<CODE: message>".
inline std::string error_text(const Error& error) {
  return concat('<', code_name(error.code), ": ", error.message, '>');
}

/// A length-delimited field in hexadecimal: key, length, content.
inline std::string wire_field(std::uint32_t number, std::string_view content) {
  Bytes out;
  WireWriter(out).bytes(number, from_hexadecimal(content));
  return to_hexadecimal(out);
}

}  // namespace headrace

#include "headrace/base/digest.h"

#include <array>

namespace headrace {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoBase64Digit = 64;

constexpr std::array<std::uint8_t, 256> kBase64Values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoBase64Digit);
  for (std::uint8_t i = 0; i < 64; ++i) values[static_cast<unsigned char>(kBase64Digits[i])] = i;
  return values;
}();

}  // namespace

Bytes sha256(BytesView data) {
  Sha256 state;
  state.update(data);
  return state.finish();
}

std::string sha256_hex(BytesView data) { return hex(sha256(data)); }

std::string hex(BytesView data) {
  std::string text;
  text.reserve(2 * data.size());
  for (const std::byte byte : data) {
    text += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
  }
  return text;
}

std::string base64(BytesView data) {
  std::string text(4 * ((data.size() + 2) / 3), '=');
  char* to = text.data();
  const auto put = [&](std::uint32_t bits, int digits) {  // writes the highest digits of 24 bits
    for (int shift = 18; digits > 0; shift -= 6, --digits) *to++ = kBase64Digits[(bits >> shift) & 63];
  };
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(data[i]); };
  std::size_t at = 0;
  for (; at + 3 <= data.size(); at += 3) put(byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2), 4);
  if (data.size() - at == 2) put(byte(at) << 16 | byte(at + 1) << 8, 3);
  if (data.size() - at == 1) put(byte(at) << 16, 2);
  return text;
}

std::optional<Bytes> parse_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const std::size_t digits = text.size() - padding;
  Bytes data(text.size() / 4 * 3);
  std::uint32_t seen = 0;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t bits = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      const std::uint32_t value = i < digits ? kBase64Values[static_cast<unsigned char>(text[i])] : 0;
      seen |= value;
      bits = bits << 6 | value;
    }
    for (std::size_t i = 0; i < 3; ++i) data[at / 4 * 3 + i] = static_cast<std::byte>(bits >> (16 - 8 * i));
  }
  if ((seen & kNoBase64Digit) != 0) return std::nullopt;
  data.resize(data.size() - padding);
  return data;
}

}  // namespace headrace

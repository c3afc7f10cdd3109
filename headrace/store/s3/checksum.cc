#include "headrace/store/s3/checksum.h"

#include <openssl/evp.h>

#include <array>

namespace headrace {

std::string base64(BytesView data) {
  std::string text(4 * ((data.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(data.data()), static_cast<int>(data.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string crc32c_field(std::uint32_t crc) {
  const std::array<std::byte, 4> big_endian = {std::byte(crc >> 24), std::byte(crc >> 16),
                                               std::byte(crc >> 8), std::byte(crc)};
  return base64(big_endian);
}

std::optional<std::uint32_t> parse_crc32c_field(std::string_view field) {
  constexpr std::size_t kCharacters = 8;  // of four bytes, two of them padding
  std::array<unsigned char, 6> bytes{};
  if (field.size() != kCharacters || !field.ends_with("==")) return std::nullopt;
  if (EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(field.data()), kCharacters) != 6)
    return std::nullopt;
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         std::uint32_t{bytes[3]};
}

std::string md5_field(BytesView body) {
  std::array<std::byte, 16> digest{};
  EVP_Digest(body.data(), body.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr, EVP_md5(),
             nullptr);
  return base64(digest);
}

}  // namespace headrace

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

std::optional<Bytes> parse_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  Bytes data(text.size() / 4 * 3);
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(data.data()),
                      reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) != static_cast<int>(data.size()))
    return std::nullopt;
  data.resize(data.size() - padding);
  return data;
}

std::string crc32c_field(std::uint32_t crc) {
  const std::array<std::byte, 4> big_endian = {std::byte(crc >> 24), std::byte(crc >> 16),
                                               std::byte(crc >> 8), std::byte(crc)};
  return base64(big_endian);
}

std::optional<std::uint32_t> parse_crc32c_field(std::string_view field) {
  const auto bytes = parse_base64(field);
  if (!bytes || bytes->size() != 4) return std::nullopt;
  std::uint32_t crc = 0;
  for (const std::byte byte : *bytes) crc = crc << 8 | std::to_integer<std::uint32_t>(byte);
  return crc;
}

std::string md5_field(BytesView body) {
  std::array<std::byte, 16> digest{};
  EVP_Digest(body.data(), body.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr, EVP_md5(),
             nullptr);
  return base64(digest);
}

}  // namespace headrace

#include "headrace/store/s3/checksum.h"

#include <openssl/evp.h>

#include <array>

#include "headrace/base/digest.h"

namespace headrace {

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

namespace {

std::array<std::byte, 16> md5(BytesView data) {
  std::array<std::byte, 16> digest{};
  EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr, EVP_md5(),
             nullptr);
  return digest;
}

}  // namespace

std::string md5_field(BytesView body) { return base64(md5(body)); }

std::string md5_hex(BytesView data) { return hex(md5(data)); }

}  // namespace headrace

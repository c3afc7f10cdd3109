#pragma once

/// \file Checksums in the form of S3's header fields: base64 (RFC 4648). Internal to the driver.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

/// x-amz-checksum-crc32c: the four bytes of the CRC, most significant first.
std::string crc32c_field(std::uint32_t crc);
/// None if it is not a CRC32C, for example if the field holds a checksum of the parts' checksums ("…-7").
std::optional<std::uint32_t> parse_crc32c_field(std::string_view field);
/// Content-MD5, which DeleteObjects requires; every server supports it.
std::string md5_field(BytesView body);
/// 32 lower-case digits, as ETags have them.
std::string md5_hex(BytesView data);

}  // namespace headrace

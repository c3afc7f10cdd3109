#pragma once

/// \file Checksums in the forms of S3's header fields (base64, RFC 4648) and ETags. Internal to the driver.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

/// Value of x-amz-checksum-crc32c: the four bytes of the CRC, most significant byte first, in base64.
std::string crc32c_field(std::uint32_t crc);
/// The inverse of `crc32c_field`. None if the field is not a CRC32C, for example if it holds a checksum of
/// the parts' checksums ("…-7").
std::optional<std::uint32_t> parse_crc32c_field(std::string_view field);
/// Value of Content-MD5, which DeleteObjects requires and every server supports.
std::string md5_field(BytesView body);
/// The MD5 as 32 lower-case hexadecimal digits, the form that ETags have.
std::string md5_hex(BytesView data);

}  // namespace headrace

#pragma once

/// \file Percent-encoding (RFC 3986, section 2.1).

#include <optional>
#include <string>
#include <string_view>

namespace headrace {

/// Encodes every byte except A–Z a–z 0–9 - . _ ~ and those in `keep` as %XX, in upper case. This is the form
/// that AWS signs. For a path, pass "/" as `keep`.
std::string percent_encode(std::string_view text, std::string_view keep = "");

/// Decodes %XX. None if a '%' is not followed by two hexadecimal digits. With `plus_is_space`, '+' decodes to
/// a space, which is how S3 servers encode the keys of a listing.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

}  // namespace headrace

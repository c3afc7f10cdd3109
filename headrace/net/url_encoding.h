#pragma once

/// \file Percent-encoding (RFC 3986, section 2.1).

#include <optional>
#include <string>
#include <string_view>

namespace headrace {

/// Every byte except A–Z a–z 0–9 - . _ ~ and those in `keep` becomes %XX, upper case: the form that AWS
/// signs. For a path pass "/" as `keep`.
std::string percent_encode(std::string_view text, std::string_view keep = "");

/// None if a '%' is not followed by two hexadecimal digits. With `plus_is_space`, '+' decodes to a space: the
/// form in which S3 servers encode the keys of a listing.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

}  // namespace headrace

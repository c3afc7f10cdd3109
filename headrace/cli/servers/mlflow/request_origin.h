#pragma once

/// \file Rejects requests that a web page may have caused: a page whose name resolves to this machine (DNS
/// rebinding), or a page of another site. Pure functions.

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// Checks two headers of a request.
/// \param host     the header Host; none: it is missing. Must be an IPv4 or IPv6 address, localhost, or one
///                 of `allowed`, each with or without a port
/// \param origin   the header Origin; none: the request has none. Must be that of the server itself
/// \param allowed  names in lower case
/// \error kPermissionDenied  a header is not as it must be
Status check_request_origin(std::optional<std::string_view> host, std::optional<std::string_view> origin,
                            const std::set<std::string, std::less<>>& allowed);

}  // namespace headrace

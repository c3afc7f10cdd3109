#pragma once

/// \file Whether a request may come from a page of the web: a page whose name resolves to this machine (DNS
/// rebinding), or another site's page. Pure functions.

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// `host`: the header Host; none: there was none. It must be an address of IPv4 or IPv6, localhost, or one of
/// `allowed` (in lower case), each with a port or without. `origin`: the header Origin; if there is one, it
/// must be that of the server itself.
/// \error kPermissionDenied
Status check_request_origin(std::optional<std::string_view> host, std::optional<std::string_view> origin,
                            const std::set<std::string, std::less<>>& allowed);

}  // namespace headrace

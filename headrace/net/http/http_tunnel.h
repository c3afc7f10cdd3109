#pragma once

/// \file A tunnel through a proxy to a server that speaks TLS: CONNECT (RFC 9110, section 9.3.6). Internal to
/// the HTTP client.

#include <memory>

#include "headrace/net/connector.h"
#include "headrace/net/http/http_message.h"
#include "headrace/net/http/http_parser.h"
#include "headrace/net/http/http_proxy.h"

namespace headrace {

/// Takes over a socket that is connected to the proxy, and asks the proxy to connect it to the server of
/// `request`. Borrows `proxy`. An answer that refuses gives kRefused; a failed exchange gives kLost.
std::unique_ptr<Tunnel> open_http_tunnel(FileDescriptor socket, const HttpProxy& proxy,
                                         const HttpRequest& request, const HttpLimits& limits,
                                         Tunnel::Time now);

/// The error for an answer of the proxy itself.
Error refused_by_proxy(const HttpProxy& proxy, int status);

}  // namespace headrace

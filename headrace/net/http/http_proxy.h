#pragma once

/// \file Chooses the proxy that a request goes through.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/net/http/http_message.h"

namespace headrace {

struct HttpProxy {
  HttpEndpoint endpoint;      // never TLS
  std::string authorization;  // value of Proxy-Authorization, a secret; empty: no such field
  std::string source;         // "HTTPS_PROXY"
};

struct HttpProxies {
  std::optional<HttpProxy> for_http{};
  std::optional<HttpProxy> for_https{};
  /// Hosts that are reached without a proxy: host names, domains (which include all names below them) and
  /// addresses, in lower case. Host names and addresses may have a ":port". "*" stands for all hosts.
  std::vector<std::string> direct{};

  /// The proxy for an endpoint. Null: connect directly, as always within this machine.
  const HttpProxy* of(const HttpEndpoint& endpoint) const;
};

/// Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY. The lower-case name of each takes precedence. NO_PROXY holds
/// names, domains and single addresses, separated by commas, but no networks such as 10.0.0.0/8. A proxy is
/// "http://[name:password@]host[:port]"; the default port is 1080.
/// \error kInvalidArgument  a variable is not a proxy; the message names it, but not its value, which may
///                          hold a password
Result<HttpProxies> http_proxies_from(const Environment& environment);

}  // namespace headrace

#pragma once

/// \file Proxies between here and servers: which one a request goes through.

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
  std::string authorization;  // value of Proxy-Authorization, a secret; empty: none
  std::string source;         // "HTTPS_PROXY"
};

struct HttpProxies {
  std::optional<HttpProxy> for_http{};
  std::optional<HttpProxy> for_https{};
  /// Host names, domains (they stand for all below them, too) and addresses, optionally with ":port", that
  /// are reached without a proxy; "*" for all. In lower case.
  std::vector<std::string> direct{};

  /// Null: none. This machine is always reached directly.
  const HttpProxy* of(const HttpEndpoint& endpoint) const;
};

/// HTTPS_PROXY, HTTP_PROXY and NO_PROXY, each in lower case first. NO_PROXY: names, domains and single
/// addresses between commas, no networks like 10.0.0.0/8. A proxy: "http://[name:password@]host[:port]", port
/// 1080 unless given.
/// \error kInvalidArgument  names the variable, not its value, which may hold a password
Result<HttpProxies> http_proxies_from(const Environment& environment);

}  // namespace headrace

#include "headrace/net/http/http_proxy.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/net/url_encoding.h"

namespace headrace {
namespace {

constexpr std::uint16_t kDefaultPort = 1080;

struct Variable {
  std::string name;
  std::string value;
};

std::optional<Variable> find(const Environment& environment, std::string_view upper_case_name) {
  for (const std::string& name : {to_lower(upper_case_name), std::string(upper_case_name)}) {
    if (const auto value = environment.get(name)) return Variable{name, *value};
  }
  return std::nullopt;
}

Error refuse(const Variable& variable, std::string_view why) {
  return {
      Code::kInvalidArgument,
      concat(variable.name, " is not a proxy (http://host:port or http://name:password@host:port): ", why)};
}

Result<std::optional<HttpProxy>> proxy_from(const Environment& environment, std::string_view name) {
  const auto variable = find(environment, name);
  if (!variable) return std::optional<HttpProxy>();
  std::string_view address = variable->value;
  const std::size_t scheme_end = address.find("://");
  if (scheme_end != std::string_view::npos) {
    if (to_lower(address.substr(0, scheme_end)) != "http") return refuse(*variable, "its scheme is not http");
    address.remove_prefix(scheme_end + 3);
  }
  HttpProxy proxy{.source = variable->name};
  if (const std::size_t at = address.rfind('@'); at != std::string_view::npos) {
    const auto name_and_password = percent_decode(address.substr(0, at));
    if (!name_and_password) return refuse(*variable, "its name or password is not percent-encoded");
    proxy.authorization = concat("Basic ", base64(as_bytes(*name_and_password)));
    address.remove_prefix(at + 1);
  }
  const bool has_port = address.find(':', address.rfind(']') == address.npos ? 0 : address.rfind(']')) !=
                        std::string_view::npos;
  const Result<HttpEndpoint> endpoint = parse_http_endpoint(address, false);
  if (!endpoint || !endpoint->base_path.empty())
    return refuse(*variable, "it has no host, or no port number");
  proxy.endpoint = *endpoint;
  if (!has_port) proxy.endpoint.port = kDefaultPort;
  return std::optional(proxy);
}

}  // namespace

const HttpProxy* HttpProxies::of(const HttpEndpoint& endpoint) const {
  const std::optional<HttpProxy>& proxy = endpoint.tls ? for_https : for_http;
  if (!proxy || endpoint.is_loopback()) return nullptr;
  const std::string host = to_lower(endpoint.host), host_and_port = concat(host, ':', endpoint.port);
  const bool is_direct = std::ranges::any_of(direct, [&](const std::string& name) {
    return name == "*" || name == host || name == host_and_port || host.ends_with(concat('.', name));
  });
  return is_direct ? nullptr : &*proxy;
}

Result<HttpProxies> http_proxies_from(const Environment& environment) {
  HttpProxies proxies;
  HEADRACE_TRY(proxies.for_http, proxy_from(environment, "HTTP_PROXY"));
  HEADRACE_TRY(proxies.for_https, proxy_from(environment, "HTTPS_PROXY"));
  if (const auto direct = find(environment, "NO_PROXY")) {
    std::string_view rest = direct->value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      std::string name = to_lower(trim(rest.substr(0, end)));
      if (name.starts_with('.')) name.erase(0, 1);
      if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
      if (!name.empty()) proxies.direct.push_back(std::move(name));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return proxies;
}

}  // namespace headrace

#include "headrace/cli/servers/mlflow/request_origin.h"

#include <arpa/inet.h>

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// "[::1]:5000" → "[::1]"; empty if the text is not a host.
std::string_view without_port(std::string_view host) {
  const std::size_t end = host.starts_with('[') ? host.find(']') + 1 : std::min(host.find(':'), host.size());
  const bool has_more = end < host.size() && host[end] != ':';
  return has_more ? std::string_view() : host.substr(0, end);
}

bool is_ip_address(std::string_view host) {
  in6_addr ignored{};
  if (host.starts_with('[') && host.ends_with(']'))
    return inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &ignored) == 1;
  return inet_pton(AF_INET, std::string(host).c_str(), &ignored) == 1;
}

}  // namespace

Status check_request_origin(std::optional<std::string_view> host, std::optional<std::string_view> origin,
                            const std::set<std::string, std::less<>>& allowed) {
  const std::string given = to_lower(host.value_or(""));
  const std::string_view name = without_port(given);
  if (!is_ip_address(name) && name != "localhost" && !allowed.contains(name)) {
    return Error{Code::kPermissionDenied,
                 concat("the Host of the request is '", printable_line(given, 100),
                        "': use the server's address, or start it with --allow-host NAME")};
  }
  if (!origin || *origin == concat("http://", given) || *origin == concat("https://", given)) return {};
  return Error{Code::kPermissionDenied, "pages of other sites may not ask this server"};
}

}  // namespace headrace

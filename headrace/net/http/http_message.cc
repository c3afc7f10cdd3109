#include "headrace/net/http/http_message.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"

namespace headrace {

std::optional<std::string_view> find_header(const HttpHeaders& headers, std::string_view name) {
  const auto same = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(a) == lower(b);
  };
  for (const HttpHeader& header : headers) {
    if (std::ranges::equal(header.name, name, same)) return header.value;
  }
  return std::nullopt;
}

std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text) {
  static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  static constexpr std::string_view kForm = "***, ## *** #### ##:##:## GMT";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == '*'   ? true
                      : kForm[i] == '#' ? text[i] >= '0' && text[i] <= '9'
                                        : text[i] == kForm[i];
    if (!fits) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    return *parse_number<unsigned>(text.substr(at, digits));
  };
  const std::size_t month = kMonths.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number(12, 4))),
                                         std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
                                         std::chrono::day(number(5, 2))};
  // The clock counts nanoseconds in 64 bits, which end in 2262.
  if (number(12, 4) < 1970 || number(12, 4) > 2200) return std::nullopt;
  if (!date.ok() || number(17, 2) > 23 || number(20, 2) > 59 || number(23, 2) > 60) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(number(17, 2)) +
         std::chrono::minutes(number(20, 2)) + std::chrono::seconds(number(23, 2));
}

std::string HttpEndpoint::host_field() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  std::string field = is_ipv6 ? concat('[', host, ']') : host;
  if (port != (tls ? 443 : 80)) field += concat(':', port);
  return field;
}

std::string HttpEndpoint::text() const {
  return concat(tls ? "https://" : "http://", host_field(), base_path);
}

bool HttpEndpoint::is_loopback() const {
  return host == "localhost" || host.ends_with(".localhost") || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

Result<HttpEndpoint> parse_http_endpoint(std::string_view text, bool tls_without_scheme) {
  HttpEndpoint endpoint{.tls = tls_without_scheme};
  if (text.find('@') != std::string_view::npos) {
    return Error{Code::kInvalidArgument, "an endpoint contains a user or password before '@'; remove it"};
  }
  const auto refuse = [&](std::string_view why) {
    return Error{Code::kInvalidArgument,
                 concat("\"", text, "\" is not an endpoint (http://host:port or https://host): ", why)};
  };
  std::string_view rest = text;
  if (const std::size_t colon = text.find("://"); colon != std::string_view::npos) {
    const std::string scheme = to_lower(text.substr(0, colon));
    if (scheme != "http" && scheme != "https") return refuse("the scheme is neither http nor https");
    endpoint.tls = scheme == "https";
    rest.remove_prefix(colon + 3);
  }
  if (rest.find_first_of("?# \\") != std::string_view::npos || std::ranges::any_of(rest, [](char c) {
        return static_cast<unsigned char>(c) < 0x21 || static_cast<unsigned char>(c) > 0x7e;
      })) {
    return refuse("it contains a query, fragment, space or non-ASCII character");
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  endpoint.base_path = rest.substr(slash);
  while (endpoint.base_path.ends_with('/')) endpoint.base_path.pop_back();
  rest = rest.substr(0, slash);

  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return refuse("a '[' without ']'");
    endpoint.host = to_lower(rest.substr(1, close - 1));
    port = rest.substr(close + 1);
  } else {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    endpoint.host = to_lower(rest.substr(0, colon));
    port = rest.substr(colon);
  }
  if (endpoint.host.empty()) return refuse("it names no host");
  const bool is_address = rest.starts_with('[');
  const std::string_view allowed =
      is_address ? "0123456789abcdef:." : "0123456789abcdefghijklmnopqrstuvwxyz-._";
  if (endpoint.host.find_first_not_of(allowed) != std::string::npos) {
    return refuse(is_address ? "there is no IPv6 address between the brackets"
                             : "the host contains characters other than letters, digits, '-', '.' and '_'");
  }
  endpoint.port = endpoint.tls ? 443 : 80;
  if (!port.empty()) {
    const auto number = port[0] == ':' ? parse_number<std::uint16_t>(port.substr(1)) : std::nullopt;
    if (!number || *number == 0) return refuse("the host is not followed by a port from 1 to 65535");
    endpoint.port = *number;
  }
  return endpoint;
}

}  // namespace headrace

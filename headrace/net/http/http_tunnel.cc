#include "headrace/net/http/http_tunnel.h"

#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/http/http_exchange.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMaxRefusalBytes = 64 << 10;  // size of the body that a proxy may send with a refusal

HttpRequest request_for_tunnel(const HttpProxy& proxy, const HttpRequest& request) {
  const std::string& host = request.endpoint.host;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  const std::string to = concat(is_ipv6 ? "[" : "", host, is_ipv6 ? "]:" : ":", request.endpoint.port);
  HttpRequest ask{.method = "CONNECT",
                  .target = to,
                  .headers = {{"Host", to}},
                  .max_body_bytes = kMaxRefusalBytes,
                  .stall_timeout = request.stall_timeout};
  if (!proxy.authorization.empty()) ask.headers.push_back({"Proxy-Authorization", proxy.authorization});
  return ask;
}

class HttpTunnel final : public Tunnel {
 public:
  HttpTunnel(FileDescriptor socket, const HttpProxy& proxy, const HttpRequest& request,
             const HttpLimits& limits, Time now)
      : proxy_(proxy),
        request_(request_for_tunnel(proxy, request)),
        connection_{.stream = plain_stream(std::move(socket))},
        exchange_(connection_, request_, nullptr, limits, now) {}

  State advance(bool readable, Time now) override {
    exchange_.advance(readable, now);
    if (!exchange_.is_over()) return State::kWaiting;
    const Result<HttpResponse> answer = exchange_.take_response();
    if (!answer) {
      error_ = answer.error();
      return State::kLost;
    }
    if (answer->is_success()) return State::kOpen;
    error_ = refused_by_proxy(proxy_, answer->status);
    return State::kRefused;
  }
  Poller::Interest interest() const override { return exchange_.interest(); }
  Time wake_at() const override { return exchange_.wake_at(); }
  Error error() const override { return error_; }

 private:
  const HttpProxy& proxy_;
  const HttpRequest request_;
  HttpConnection connection_;
  HttpExchange exchange_;
  Error error_{};
};

}  // namespace

std::unique_ptr<Tunnel> open_http_tunnel(FileDescriptor socket, const HttpProxy& proxy,
                                         const HttpRequest& request, const HttpLimits& limits,
                                         Tunnel::Time now) {
  return std::make_unique<HttpTunnel>(std::move(socket), proxy, request, limits, now);
}

Error refused_by_proxy(const HttpProxy& proxy, int status) {
  const std::string who = concat("the proxy ", proxy.endpoint.text(), " (", proxy.source, ")");
  if (status == 407) {
    return {Code::kUnauthenticated, concat(who, " requires a name and a password: ", proxy.source,
                                           "=http://NAME:PASSWORD@host:port, percent-encoded")};
  }
  return {Code::kUnavailable, concat(who, " answered with status ", status)};
}

}  // namespace headrace

#include "headrace/net/http/http_transfer.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/net/http/http_tunnel.h"

namespace headrace {

HttpTransfer::HttpTransfer(HttpConnections& connections, HttpConnections::Place place,
                           const HttpRequest& request, Poller& poller, std::uint64_t tag, Time now)
    : connections_(connections),
      place_(std::move(place)),
      request_(request),
      proxy_(connections.options().proxies.of(request.endpoint)),
      poller_(poller),
      tag_(tag) {
  if (place_.connection && !place_.connection->is_quiet()) place_.connection.reset();
  on_kept_connection_ = place_.connection != nullptr;
  if (on_kept_connection_) {
    begin_exchange(now);
  } else {
    connect();
  }
}

HttpTransfer::~HttpTransfer() {
  stop_watching();
  if (!exchange_ || !exchange_->is_over() || !exchange_->is_connection_reusable()) place_.connection.reset();
}

HttpTransfer::Time HttpTransfer::wake_at() const {
  return connecting_ ? connecting_->wake_at() : exchange_->wake_at();
}

std::optional<HttpTransfer::Time::duration> HttpTransfer::head_after() const {
  return exchange_ ? exchange_->head_after() : std::nullopt;
}

void HttpTransfer::advance(bool readable, Time now) {
  GoOn more = true;
  while (more && !is_over()) {
    const bool news = std::exchange(readable, false);
    more = connecting_ ? finish_connecting(news, now) : exchange(news, now);
  }
}

void HttpTransfer::finish(Result<HttpResponse> outcome) {
  stop_watching();
  outcome_ = std::move(outcome);
}

void HttpTransfer::watch(int fd, Poller::Interest interest) {
  if (watched_ == fd && interest_ == interest) return;
  if (const Status watched = poller_.watch(fd, interest, tag_); !watched) return finish(watched.error());
  watched_ = fd;
  interest_ = interest;
}

void HttpTransfer::stop_watching() {
  if (watched_ >= 0) poller_.forget(std::exchange(watched_, -1));
}

ConnectTarget HttpTransfer::target() const {
  const HttpEndpoint& endpoint = proxy_ ? proxy_->endpoint : request_.endpoint;
  ConnectTarget target{
      .host = endpoint.host,
      .port = endpoint.port,
      .description = concat(endpoint.text(), proxy_ ? concat(", the proxy of ", proxy_->source) : ""),
      .timeout = std::min(connections_.options().connect_timeout, request_.stall_timeout)};
  if (!request_.endpoint.tls) return target;
  target.tls_name = request_.endpoint.host;
  if (proxy_) {
    target.begin_tunnel = [this](FileDescriptor socket, Time now) {
      return open_http_tunnel(std::move(socket), *proxy_, request_, connections_.options().limits, now);
    };
  }
  return target;
}

void HttpTransfer::connect() {
  connecting_.emplace(connections_.connector(), target(), poller_, tag_);
  connecting_->advance(false, std::chrono::steady_clock::now());
}

HttpTransfer::GoOn HttpTransfer::finish_connecting(bool readable, Time now) {
  connecting_->advance(readable, now);
  if (!connecting_->is_over()) return false;
  Result<std::unique_ptr<ByteStream>> stream = connecting_->take_stream();
  if (!stream) {
    finish(std::move(stream).error());
    return false;
  }
  connecting_.reset();
  place_.connection = std::make_unique<HttpConnection>();
  place_.connection->stream = *std::move(stream);
  begin_exchange(now);
  return true;
}

void HttpTransfer::begin_exchange(Time now) {
  const HttpProxy* handed_on_by = request_.endpoint.tls ? nullptr : proxy_;
  exchange_.emplace(*place_.connection, request_, handed_on_by, connections_.options().limits, now);
}

HttpTransfer::GoOn HttpTransfer::exchange(bool readable, Time now) {
  exchange_->advance(readable, now);
  if (!exchange_->is_over()) {
    watch(place_.connection->stream->fd(), exchange_->interest());
    return false;
  }
  Result<HttpResponse> response = exchange_->take_response();
  const bool stale = !response && on_kept_connection_ && request_.repeatable && !exchange_->answered() &&
                     response.error().code == Code::kUnavailable;
  if (!stale) {
    const bool wants_password = response && proxy_ && response->status == 407;
    finish(wants_password ? refused_by_proxy(*proxy_, 407) : std::move(response));
    return false;
  }
  stop_watching();
  exchange_.reset();
  place_.connection.reset();
  on_kept_connection_ = false;
  connections_.governor(request_.endpoint).resent();
  connect();
  return true;
}

}  // namespace headrace

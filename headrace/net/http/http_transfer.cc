#include "headrace/net/http/http_transfer.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kResolverPause{1};
constexpr std::uint64_t kMaxRefusalBytes = 64 << 10;  // what a proxy may say with it

}  // namespace

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
  switch (stage_) {
    case Stage::kResolving:
      return std::min(resolve_again_at_, connect_until_);
    case Stage::kConnecting:
      return address_until_;
    case Stage::kTunnelling:
      return std::min(address_until_, tunnel_->exchange->wake_at());
    case Stage::kShakingHands:
      return address_until_;
    case Stage::kExchanging:
      break;
  }
  return exchange_->wake_at();
}

std::optional<HttpTransfer::Time::duration> HttpTransfer::head_after() const {
  return exchange_ ? exchange_->head_after() : std::nullopt;
}

void HttpTransfer::advance(bool readable, Time now) {
  GoOn more = true;
  while (more && !is_over()) {
    switch (stage_) {
      case Stage::kResolving:
        more = find_addresses(now);
        break;
      case Stage::kConnecting:
        more = finish_connecting(now);
        break;
      case Stage::kTunnelling:
        more = tunnel(std::exchange(readable, false), now);
        break;
      case Stage::kShakingHands:
        more = shake_hands(now);
        break;
      case Stage::kExchanging:
        more = exchange(std::exchange(readable, false), now);
        break;
    }
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

const HttpEndpoint& HttpTransfer::connects_to() const {
  return proxy_ ? proxy_->endpoint : request_.endpoint;
}

void HttpTransfer::connect() {
  stage_ = Stage::kResolving;
  next_address_ = 0;
  const Time now = std::chrono::steady_clock::now();
  connect_until_ = now + most_to_connect();
  find_addresses(now);
}

HttpTransfer::GoOn HttpTransfer::find_addresses(Time now) {
  if (is_over()) return false;
  std::optional<HttpAddresses::Answer> found =
      connections_.addresses().of(connects_to().host, connects_to().port);
  if (!found && now < connect_until_) {
    resolve_again_at_ = now + kResolverPause;
    return false;
  }
  if (!found) {
    finish(Error{Code::kDeadlineExceeded,
                 concat("cannot resolve \"", connects_to().host, "\": the resolver has not answered in ",
                        most_to_connect().count(), " ms; is the name server in /etc/resolv.conf there?")});
    return false;
  }
  if (!*found) {
    finish(std::move(*found).error());
    return false;
  }
  addresses_ = **std::move(found);
  return try_next_address(now);
}

milliseconds HttpTransfer::most_to_connect() const {
  return std::min(connections_.options().connect_timeout, request_.stall_timeout);
}

// The addresses that are left share the time that is left.
HttpTransfer::GoOn HttpTransfer::try_next_address(Time now) {
  stop_watching();
  tunnel_.reset();
  place_.connection.reset();
  while (next_address_ < addresses_.size() && now < connect_until_) {
    const auto left = (connect_until_ - now) / static_cast<int>(addresses_.size() - next_address_);
    address_until_ = now + left;
    stage_ = Stage::kConnecting;
    Result<FileDescriptor> socket = start_connecting(addresses_[next_address_++]);
    if (socket) {
      socket_ = *std::move(socket);
      watch(socket_.get(), {.write = true});
      return false;
    }
    last_ = std::move(socket).error();
    if (last_.code == Code::kResourceExhausted) break;  // no other address would help
  }
  connections_.addresses().distrust(connects_to().host, connects_to().port);
  const std::string through = proxy_ ? concat(", the proxy of ", proxy_->source) : "";
  finish(std::move(last_).in(concat("cannot connect to ", connects_to().text(), through)));
  return false;
}

HttpTransfer::GoOn HttpTransfer::finish_connecting(Time now) {
  if (is_over()) return false;
  if (!is_connected(socket_.get())) {
    if (Status outcome = connect_outcome(socket_.get()); !outcome) {
      last_ = std::move(outcome).error();
      return try_next_address(now);
    }
    if (now < address_until_) return false;
    return not_within_time("no answer", now);
  }
  stop_watching();
  return proxy_ && request_.endpoint.tls ? begin_tunnel(now) : open_stream();
}

HttpTransfer::GoOn HttpTransfer::begin_tunnel(Time now) {
  Result<FileDescriptor> socket = duplicate(socket_);
  if (!socket) {
    finish(std::move(socket).error());
    return false;
  }
  const std::string& host = request_.endpoint.host;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  const std::string to = concat(is_ipv6 ? "[" : "", host, is_ipv6 ? "]:" : ":", request_.endpoint.port);
  tunnel_ = std::make_unique<Tunnel>();
  tunnel_->connection.stream = plain_stream(*std::move(socket));
  tunnel_->request = {.endpoint = proxy_->endpoint,
                      .method = "CONNECT",
                      .target = to,
                      .headers = {{"Host", to}},
                      .max_body_bytes = kMaxRefusalBytes,
                      .stall_timeout = request_.stall_timeout};
  if (!proxy_->authorization.empty())
    tunnel_->request.headers.push_back({"Proxy-Authorization", proxy_->authorization});
  tunnel_->exchange.emplace(tunnel_->connection, tunnel_->request, nullptr, connections_.options().limits,
                            now);
  stage_ = Stage::kTunnelling;
  return true;
}

HttpTransfer::GoOn HttpTransfer::tunnel(bool readable, Time now) {
  HttpExchange& exchange = *tunnel_->exchange;
  exchange.advance(readable, now);
  if (!exchange.is_over()) {
    if (now >= address_until_) return not_within_time("no answer of the proxy", now);
    watch(tunnel_->connection.stream->fd(), exchange.interest());
    return false;
  }
  const Result<HttpResponse> answer = exchange.take_response();
  if (!answer) {
    last_ = answer.error();
    return try_next_address(now);
  }
  if (!answer->is_success()) {
    finish(refused_by_proxy(answer->status));
    return false;
  }
  stop_watching();
  tunnel_.reset();
  return open_stream();
}

Error HttpTransfer::refused_by_proxy(int status) const {
  const std::string who = concat("the proxy ", proxy_->endpoint.text(), " (", proxy_->source, ")");
  if (status == 407) {
    return {Code::kUnauthenticated, concat(who, " wants a name and a password: ", proxy_->source,
                                           "=http://NAME:PASSWORD@host:port, percent-encoded")};
  }
  return {Code::kUnavailable, concat(who, " answered with status ", status)};
}

HttpTransfer::GoOn HttpTransfer::open_stream() {
  auto connection = std::make_unique<HttpConnection>();
  if (request_.endpoint.tls) {
    Result<const TlsContext*> tls = connections_.tls_context();
    Result<std::unique_ptr<ByteStream>> stream =
        tls ? (*tls)->open(std::move(socket_), request_.endpoint.host) : std::move(tls).error();
    if (!stream) {
      finish(std::move(stream).error());
      return false;
    }
    connection->stream = *std::move(stream);
  } else {
    connection->stream = plain_stream(std::move(socket_));
  }
  place_.connection = std::move(connection);
  stage_ = Stage::kShakingHands;
  return true;
}

HttpTransfer::GoOn HttpTransfer::not_within_time(std::string_view what, Time now) {
  last_ = {Code::kDeadlineExceeded, concat(what, " within ", most_to_connect().count(), " ms")};
  return try_next_address(now);
}

HttpTransfer::GoOn HttpTransfer::shake_hands(Time now) {
  const Result<IoAttempt> attempt = place_.connection->stream->try_handshake();
  if (!attempt) {
    last_ = attempt.error();
    // Who shows a wrong certificate is not asked elsewhere.
    if (last_.code == Code::kUnavailable) return try_next_address(now);
    finish(last_);
    return false;
  }
  if (attempt->state == IoAttempt::State::kDone) {
    begin_exchange(now);
    return true;
  }
  if (now >= address_until_) return not_within_time("no TLS handshake", now);
  watch(place_.connection->stream->fd(), {.read = attempt->state == IoAttempt::State::kWantRead,
                                          .write = attempt->state == IoAttempt::State::kWantWrite});
  return false;
}

void HttpTransfer::begin_exchange(Time now) {
  stage_ = Stage::kExchanging;
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
    finish(wants_password ? refused_by_proxy(407) : std::move(response));
    return false;
  }
  stop_watching();
  exchange_.reset();
  place_.connection.reset();
  on_kept_connection_ = false;
  connections_.governor(request_.endpoint).resent();
  connect();
  return !is_over();
}

}  // namespace headrace

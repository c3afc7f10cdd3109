#include "headrace/io/http_transfer.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

using std::chrono::milliseconds;

HttpTransfer::HttpTransfer(HttpConnections& connections, HttpConnections::Place place,
                           const HttpRequest& request, Poller& poller, std::uint64_t tag, Time now)
    : connections_(connections), place_(std::move(place)), request_(request), poller_(poller), tag_(tag) {
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
    case Stage::kConnecting:
      return std::min(address_until_, connect_until_);
    case Stage::kShakingHands:
      return connect_until_;
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
      case Stage::kConnecting:
        more = finish_connecting(now);
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

void HttpTransfer::connect() {
  stage_ = Stage::kConnecting;
  Result<std::vector<SocketAddress>> found =
      connections_.addresses().of(request_.endpoint.host, request_.endpoint.port);
  if (!found) return finish(std::move(found).error());
  addresses_ = *std::move(found);
  next_address_ = 0;
  const Time now = std::chrono::steady_clock::now();  // resolving may have taken long
  connect_until_ = now + std::min(connections_.options().connect_timeout, request_.stall_timeout);
  try_next_address(now);
}

// The addresses that are left share the time that is left.
HttpTransfer::GoOn HttpTransfer::try_next_address(Time now) {
  stop_watching();
  while (next_address_ < addresses_.size() && now < connect_until_) {
    const auto left = (connect_until_ - now) / static_cast<int>(addresses_.size() - next_address_);
    address_until_ = now + left;
    Result<FileDescriptor> socket = start_connecting(addresses_[next_address_++]);
    if (socket) {
      socket_ = *std::move(socket);
      watch(socket_.get(), {.write = true});
      return false;
    }
    last_ = std::move(socket).error();
    if (last_.code == Code::kResourceExhausted) break;  // no other address would help
  }
  connections_.addresses().distrust(request_.endpoint.host, request_.endpoint.port);
  finish(std::move(last_).in(concat("cannot connect to ", request_.endpoint.text())));
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
    const auto waited = std::min(connections_.options().connect_timeout, request_.stall_timeout);
    last_ = {Code::kDeadlineExceeded, concat("no answer within ", waited.count(), " ms")};
    return try_next_address(now);
  }
  stop_watching();
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

HttpTransfer::GoOn HttpTransfer::shake_hands(Time now) {
  const Result<IoAttempt> attempt = place_.connection->stream->try_handshake();
  if (!attempt) {
    finish(attempt.error());
    return false;
  }
  if (attempt->state == IoAttempt::State::kDone) {
    begin_exchange(now);
    return true;
  }
  if (now >= connect_until_) {
    const auto waited = std::min(connections_.options().connect_timeout, request_.stall_timeout);
    finish(Error{Code::kDeadlineExceeded, concat("no TLS handshake within ", waited.count(), " ms")});
    return false;
  }
  watch(place_.connection->stream->fd(), {.read = attempt->state == IoAttempt::State::kWantRead,
                                          .write = attempt->state == IoAttempt::State::kWantWrite});
  return false;
}

void HttpTransfer::begin_exchange(Time now) {
  stage_ = Stage::kExchanging;
  exchange_.emplace(*place_.connection, request_, connections_.options().limits, now);
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
    finish(std::move(response));
    return false;
  }
  stop_watching();
  exchange_.reset();
  place_.connection.reset();
  on_kept_connection_ = false;
  connect();
  return !is_over();
}

}  // namespace headrace

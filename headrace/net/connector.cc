#include "headrace/net/connector.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds kResolverPause{1};

}  // namespace

Connector::Connector(TlsOptions tls, HostAddresses::Resolve resolver)
    : tls_options_(std::move(tls)), addresses_(std::move(resolver)) {}

Result<const TlsContext*> Connector::tls_context() {
  const std::scoped_lock lock(tls_mutex_);
  if (!tls_) {
    HEADRACE_TRY(tls_, TlsContext::create(tls_options_));
  }
  return tls_.get();
}

Result<std::unique_ptr<ByteStream>> Connector::connect(const ConnectTarget& target,
                                                       const std::stop_token& stop) {
  HEADRACE_TRY(const std::unique_ptr<Poller> poller, Poller::create());
  const std::stop_callback wake_on_stop(stop, [&] { poller->wake(); });
  ConnectAttempt attempt(*this, target, *poller, 0);
  bool is_readable = false;
  while (true) {
    if (stop.stop_requested()) return Error{Code::kCancelled, "stopped by the caller"};
    attempt.advance(is_readable, steady_clock::now());
    if (attempt.is_over()) return attempt.take_stream();
    const auto left = std::chrono::ceil<milliseconds>(attempt.wake_at() - steady_clock::now());
    HEADRACE_TRY(const std::span<const Poller::Ready> ready, poller->wait(left));
    is_readable = !ready.empty() && ready.front().readable;
  }
}

ConnectAttempt::ConnectAttempt(Connector& connector, ConnectTarget target, Poller& poller, std::uint64_t tag)
    : connector_(connector),
      target_(std::move(target)),
      poller_(poller),
      tag_(tag),
      until_(steady_clock::now() + target_.timeout) {}

ConnectAttempt::~ConnectAttempt() { stop_watching(); }

ConnectAttempt::Time ConnectAttempt::wake_at() const {
  switch (stage_) {
    case Stage::kResolving:
      return std::min(resolve_again_at_, until_);
    case Stage::kTunnelling:
      return std::min(address_until_, tunnel_->wake_at());
    case Stage::kConnecting:
    case Stage::kShakingHands:
      break;
  }
  return address_until_;
}

void ConnectAttempt::advance(bool readable, Time now) {
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
        more = pass_tunnel(std::exchange(readable, false), now);
        break;
      case Stage::kShakingHands:
        more = shake_hands(now);
        break;
    }
  }
}

ConnectAttempt::GoOn ConnectAttempt::finish(Result<std::unique_ptr<ByteStream>> outcome) {
  stop_watching();
  outcome_ = std::move(outcome);
  return false;
}

ConnectAttempt::GoOn ConnectAttempt::wait_for(int fd, Poller::Interest interest) {
  if (watched_ == fd && interest_ == interest) return false;
  if (const Status watched = poller_.watch(fd, interest, tag_); !watched) return finish(watched.error());
  watched_ = fd;
  interest_ = interest;
  return false;
}

void ConnectAttempt::stop_watching() {
  if (watched_ >= 0) poller_.forget(std::exchange(watched_, -1));
}

ConnectAttempt::GoOn ConnectAttempt::find_addresses(Time now) {
  std::optional<HostAddresses::Answer> found = connector_.addresses().of(target_.host, target_.port);
  if (!found && now < until_) {
    resolve_again_at_ = now + kResolverPause;
    return false;
  }
  if (!found) {
    return finish(
        Error{Code::kDeadlineExceeded,
              concat("cannot resolve \"", target_.host, "\": the resolver has not answered in ",
                     target_.timeout.count(), " ms; can the name server in /etc/resolv.conf be reached?")});
  }
  if (!*found) return finish(std::move(*found).error());
  addresses_ = **std::move(found);
  return try_next_address(now);
}

// The remaining addresses share the remaining time.
ConnectAttempt::GoOn ConnectAttempt::try_next_address(Time now) {
  stop_watching();
  tunnel_.reset();
  stream_.reset();
  while (next_address_ < addresses_.size() && now < until_) {
    const auto left = (until_ - now) / static_cast<int>(addresses_.size() - next_address_);
    address_until_ = now + left;
    stage_ = Stage::kConnecting;
    Result<FileDescriptor> socket = start_connecting(addresses_[next_address_++]);
    if (socket) {
      socket_ = *std::move(socket);
      return wait_for(socket_.get(), {.write = true});
    }
    last_ = std::move(socket).error();
    if (last_.code == Code::kResourceExhausted) break;  // no other address would help
  }
  connector_.addresses().distrust(target_.host, target_.port);
  const std::string server =
      target_.description.empty() ? concat(target_.host, ':', target_.port) : target_.description;
  return finish(std::move(last_).in(concat("cannot connect to ", server)));
}

ConnectAttempt::GoOn ConnectAttempt::finish_connecting(Time now) {
  if (!is_connected(socket_.get())) {
    if (Status outcome = connect_outcome(socket_.get()); !outcome) {
      last_ = std::move(outcome).error();
      return try_next_address(now);
    }
    if (now < address_until_) return false;
    return not_within_time("no answer", now);
  }
  stop_watching();
  return target_.begin_tunnel ? begin_tunnel(now) : open_stream();
}

ConnectAttempt::GoOn ConnectAttempt::begin_tunnel(Time now) {
  Result<FileDescriptor> socket = duplicate(socket_);
  if (!socket) return finish(std::move(socket).error());
  tunnel_ = target_.begin_tunnel(*std::move(socket), now);
  stage_ = Stage::kTunnelling;
  return true;
}

ConnectAttempt::GoOn ConnectAttempt::pass_tunnel(bool readable, Time now) {
  switch (tunnel_->advance(readable, now)) {
    case Tunnel::State::kWaiting:
      if (now >= address_until_) return not_within_time("no answer from the proxy", now);
      return wait_for(socket_.get(), tunnel_->interest());
    case Tunnel::State::kLost:
      last_ = tunnel_->error();
      return try_next_address(now);
    case Tunnel::State::kRefused:
      return finish(tunnel_->error());
    case Tunnel::State::kOpen:
      break;
  }
  stop_watching();
  tunnel_.reset();
  return open_stream();
}

ConnectAttempt::GoOn ConnectAttempt::open_stream() {
  if (!target_.tls_name) return finish(plain_stream(std::move(socket_)));
  const Result<const TlsContext*> tls = connector_.tls_context();
  if (!tls) return finish(tls.error());
  Result<std::unique_ptr<ByteStream>> stream = (*tls)->open(std::move(socket_), *target_.tls_name);
  if (!stream) return finish(std::move(stream).error());
  stream_ = *std::move(stream);
  stage_ = Stage::kShakingHands;
  return true;
}

ConnectAttempt::GoOn ConnectAttempt::not_within_time(std::string_view what, Time now) {
  last_ = {Code::kDeadlineExceeded, concat(what, " within ", target_.timeout.count(), " ms")};
  return try_next_address(now);
}

ConnectAttempt::GoOn ConnectAttempt::shake_hands(Time now) {
  const Result<IoAttempt> attempt = stream_->try_handshake();
  if (!attempt) {
    last_ = attempt.error();
    // A wrong certificate ends the attempt; other addresses of the server are not tried.
    return last_.code == Code::kUnavailable ? try_next_address(now) : finish(last_);
  }
  if (attempt->state == IoAttempt::State::kDone) {
    stop_watching();
    return finish(std::move(stream_));
  }
  if (now >= address_until_) return not_within_time("no TLS handshake", now);
  return wait_for(stream_->fd(), {.read = attempt->state == IoAttempt::State::kWantRead,
                                  .write = attempt->state == IoAttempt::State::kWantWrite});
}

}  // namespace headrace

#include "bench/measuring/raw_http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kHeadBytes = 64 << 10;
constexpr int kPollMs = 60'000;

Error failed(std::string_view what) { return {Code::kUnknown, concat("raw client: ", what)}; }

}  // namespace

struct RawHttp::Connection {
  int fd = -1;
  SSL* tls = nullptr;
  const RawRequest* request = nullptr;
  std::size_t sent = 0;      // of head and body
  std::size_t received = 0;  // of the body of the answer
  std::string head;          // of the answer, until it is whole
  bool has_head = false;
  short wants = 0;

  // How many bytes; none: later. A lost connection is an error.
  Result<std::optional<std::size_t>> outcome(ssize_t count) {
    if (count > 0) return std::optional<std::size_t>(count);
    if (tls) {
      const int error = SSL_get_error(tls, static_cast<int>(count));
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return failed("TLS connection lost");
      wants = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
      return std::optional<std::size_t>();
    }
    if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return failed("connection lost");
    return std::optional<std::size_t>();
  }

  Result<std::optional<std::size_t>> receive(std::byte* to, std::size_t most) {
    wants = POLLIN;
    return outcome(tls ? SSL_read(tls, to, static_cast<int>(most)) : ::recv(fd, to, most, 0));
  }

  Result<std::optional<std::size_t>> send(BytesView data) {
    wants = POLLOUT;
    return outcome(tls ? SSL_write(tls, data.data(), static_cast<int>(data.size()))
                       : ::send(fd, data.data(), data.size(), MSG_NOSIGNAL));
  }

  void begin(const RawRequest& next) {
    request = &next;
    sent = received = 0;
    head.clear();
    has_head = false;
  }

  Status take_head() {
    const std::size_t end = head.find("\r\n\r\n");
    if (end == std::string::npos) return head.size() < kHeadBytes ? Status() : failed("a head without end");
    if (!head.starts_with("HTTP/1.1 20")) return failed(head.substr(0, end));
    const std::size_t early = head.size() - end - 4;
    if (early > request->target.size()) return failed("the answer is longer than asked for");
    std::memcpy(request->target.data(), head.data() + end + 4, early);
    received = early;
    has_head = true;
    return {};
  }

  // As far as it goes; true once the answer is whole.
  Result<bool> advance() {
    const std::size_t total = request->head.size() + request->body.size();
    while (sent < total) {
      const bool in_head = sent < request->head.size();
      const BytesView left = in_head ? as_bytes(request->head).subspan(sent)
                                     : request->body.subspan(sent - request->head.size());
      HEADRACE_TRY(const auto count, send(left));
      if (!count) return false;
      sent += *count;
    }
    while (!has_head) {
      char text[4096];
      HEADRACE_TRY(const auto count, receive(reinterpret_cast<std::byte*>(text), sizeof text));
      if (!count) return false;
      head.append(text, *count);
      HEADRACE_CHECK(take_head());
    }
    while (received < request->target.size()) {
      const MutableBytesView left = request->target.subspan(received);
      HEADRACE_TRY(const auto count, receive(left.data(), left.size()));
      if (!count) return false;
      received += *count;
    }
    return true;
  }
};

RawHttp::RawHttp(RawServer server, int connections)
    : server_(std::move(server)), connections_(static_cast<std::size_t>(connections)) {
  if (server_.tls) tls_ = SSL_CTX_new(TLS_client_method());
}

RawHttp::~RawHttp() {
  for (Connection& connection : connections_) {
    if (connection.tls) SSL_free(connection.tls);
    if (connection.fd >= 0) ::close(connection.fd);
  }
  SSL_CTX_free(static_cast<SSL_CTX*>(tls_));
}

Status RawHttp::connect(Connection& connection) {
  connection.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(server_.port), .sin_addr = {}, .sin_zero = {}};
  if (::inet_pton(AF_INET, server_.host.c_str(), &to.sin_addr) != 1) return failed("no IPv4 address");
  if (::connect(connection.fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    return failed("cannot connect");
  const int on = 1;
  ::setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (tls_) {
    connection.tls = SSL_new(static_cast<SSL_CTX*>(tls_));
    SSL_set_mode(connection.tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_fd(connection.tls, connection.fd);
    if (SSL_connect(connection.tls) != 1) return failed("no TLS handshake");
  }
  const int flags = ::fcntl(connection.fd, F_GETFL);
  if (::fcntl(connection.fd, F_SETFL, flags | O_NONBLOCK) != 0) return failed("cannot set O_NONBLOCK");
  return {};
}

Status RawHttp::run(const std::vector<RawRequest>& requests) {
  std::size_t next = 0, left = requests.size();
  std::vector<pollfd> polled(connections_.size());
  const auto take = [&](Connection& connection) -> Status {
    while (connection.request || next < requests.size()) {
      if (!connection.request) connection.begin(requests[next++]);
      HEADRACE_TRY(const bool over, connection.advance());
      if (!over) return {};
      connection.request = nullptr;
      --left;
    }
    return {};
  };
  for (Connection& connection : connections_) {
    if (connection.fd < 0) HEADRACE_CHECK(connect(connection));
    HEADRACE_CHECK(take(connection));
  }
  while (left > 0) {
    for (std::size_t i = 0; i < polled.size(); ++i) {
      polled[i] = {.fd = connections_[i].request ? connections_[i].fd : -1,
                   .events = connections_[i].wants,
                   .revents = 0};
    }
    if (::poll(polled.data(), polled.size(), kPollMs) <= 0) return failed("no progress");
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) HEADRACE_CHECK(take(connections_[i]));
    }
  }
  return {};
}

}  // namespace headrace

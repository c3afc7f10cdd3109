#pragma once

/// \file For tests: a client that sends bytes unchanged, and a server whose handler the test chooses.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

inline sockaddr_in loopback_address(std::uint16_t port) {
  return {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
}

/// A blocking connection to 127.0.0.1. After a minute without a byte, it counts as ended.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer_bytes = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (receive_buffer_bytes > 0)
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    const sockaddr_in address = loopback_address(port);
    is_connected_ =
        ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool is_connected() const { return is_connected_; }
  /// False once the server has broken the connection.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(socket_.get(), SHUT_WR); }
  /// Closes the connection with a reset.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket_.close();
  }
  void close() { socket_.close(); }

  /// Reads one answer: its head, and its body according to Content-Length. If the connection ends before,
  /// returns what has arrived.
  std::string answer(bool has_body = true) {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return std::exchange(buffer_, {});
    }
    std::size_t size = end + 4;
    const std::string head = to_lower(buffer_.substr(0, size));
    if (const std::size_t at = head.find("content-length: "); has_body && at != std::string::npos)
      size += std::stoul(head.substr(at + 16));
    while (buffer_.size() < size && receive()) continue;
    const std::string answer = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return answer;
  }
  std::string ask(std::string_view request) {
    send(request);
    return answer();
  }
  /// Reads everything until the connection ends.
  std::string rest() {
    while (receive()) continue;
    return std::exchange(buffer_, {});
  }
  /// Whether the server ends the connection, having sent nothing more.
  bool is_ended() { return rest().empty(); }

 private:
  bool receive() {
    std::array<char, 16384> piece;
    const ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), 0);
    if (got > 0) buffer_.append(piece.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  FileDescriptor socket_;
  bool is_connected_ = false;
  std::string buffer_;
};

inline int status_of(std::string_view answer) {
  return answer.starts_with("HTTP/1.1 ") ? parse_number<int>(answer.substr(9, 3)).value_or(0) : 0;
}
inline std::string body_of(std::string_view answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string_view::npos ? "" : std::string(answer.substr(end + 4));
}

/// Answers with a description of the request: "POST /path 5 hello".
inline HttpAnswer echo_answer(const ReceivedRequest& request) {
  return {.content_type = "text/plain",
          .body = concat(request.head.method(), " ", request.head.target(), " ", request.body.size(), " ",
                         request.body.text())};
}
inline void echo(ReceivedRequest request, Responder responder) {
  std::move(responder).send(echo_answer(request));
}

inline std::unique_ptr<HttpServer> start_server(
    HttpServerOptions options = {}, OnRequest on_request = echo,
    OnHead on_head = [](const RequestHead&) { return HeadVerdict{}; }) {
  if (options.listen.empty()) options.listen = {"127.0.0.1:0"};
  auto server = HttpServer::start(std::move(options), std::move(on_head), std::move(on_request));
  EXPECT_TRUE(server) << server.error().message;
  return server ? *std::move(server) : nullptr;
}

/// A signal that one thread waits for and another gives.
class TestSignal {
 public:
  void give() {
    const std::lock_guard lock(mutex_);
    is_given_ = true;
    changed_.notify_all();
  }
  /// False after a minute.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [this] { return is_given_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_given_ = false;
};

}  // namespace headrace

#pragma once

/// \file For tests: a node that follows a script, for faults that a real node does not produce on request.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include "headrace/net/ignite/message.h"
#include "headrace/net/ignite/object_format.h"

namespace headrace::ignite {

/// The features of a node that can be asked for all nodes.
inline const Bytes kTellsEndpoints{std::byte{0x08}};

struct ScriptedRequest {
  Operation operation{};
  std::int64_t number = 0;
  Bytes body{};
};

/// The node's side of a connection.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}
  ~Peer() { ::close(socket_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Reads that many bytes, or fewer if the client has closed.
  Bytes read_bytes(std::size_t count) {
    Bytes bytes(count);
    const ssize_t got = ::recv(socket_, bytes.data(), count, MSG_WAITALL);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  // Empty: the client has closed.
  Bytes read_message() {
    std::int32_t length = 0;
    if (::recv(socket_, &length, sizeof length, MSG_WAITALL) != sizeof length) return {};
    Bytes message(static_cast<std::size_t>(length));
    return ::recv(socket_, message.data(), message.size(), MSG_WAITALL) == length ? message : Bytes();
  }
  // The client may close before it has read all answers.
  void send(BytesView bytes) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return;
    EXPECT_EQ(sent, static_cast<ssize_t>(bytes.size()));
  }
  void send_message(BytesView body) {
    Bytes message;
    append_little_endian(message, static_cast<std::int32_t>(body.size()));
    append(message, body);
    send(message);
  }
  void accept_handshake(const NodeId& id = {.high = 1, .low = 1}, BytesView features = {}) {
    read_message();
    Bytes reply{std::byte{1}};
    append(reply, encode_bytes(features));
    append_little_endian(reply, TypeCode::kUuid);
    append_little_endian(reply, id.high);
    append_little_endian(reply, id.low);
    send_message(reply);
  }
  void refuse_user() {
    read_message();
    Bytes refusal(1);
    for (const std::int16_t part : {1, 7, 0}) append_little_endian(refusal, part);
    append_string(refusal, "no such user");
    append_little_endian(refusal, std::int32_t{2000});
    send_message(refusal);
  }
  void refuse(std::int64_t request, std::int32_t status, std::string_view why) {
    Bytes response;
    append_little_endian(response, request);
    append_little_endian(response, std::int16_t{1});
    append_little_endian(response, status);
    append_string(response, why);
    send_message(response);
  }
  void answer(std::int64_t request, BytesView body) {
    Bytes response;
    append_little_endian(response, request);
    append_little_endian(response, std::int16_t{0});
    append(response, body);
    send_message(response);
  }
  // As `answer`, but also reports that the nodes have changed.
  void answer_of_version(std::int64_t version, std::int64_t request, BytesView body) {
    Bytes response;
    append_little_endian(response, request);
    append_little_endian(response, std::int16_t{2});
    append_little_endian(response, version);
    append_little_endian(response, std::int32_t{0});
    append(response, body);
    send_message(response);
  }
  // Number 0: the client has closed.
  ScriptedRequest next_request() {
    const Bytes message = read_message();
    if (message.empty()) return {};
    return {.operation = static_cast<Operation>(load_little_endian<std::int16_t>(message.data())),
            .number = load_little_endian<std::int64_t>(message.data() + 2),
            .body = Bytes(message.begin() + 10, message.end())};
  }
  // The number of the next request, which the caller must answer. 0: the client has closed.
  std::int64_t read_request() { return next_request().number; }

 private:
  const int socket_;
};

/// Plays one script after another, each for one connection.
class ScriptedNode {
 public:
  using Script = std::function<void(Peer&)>;
  explicit ScriptedNode(std::vector<Script> scripts) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, scripts = std::move(scripts)] {
      for (const Script& script : scripts) {
        const int socket = ::accept(listener_, nullptr, nullptr);
        if (socket < 0) return;  // the test is over
        Peer peer(socket);
        script(peer);
        ++played_;
      }
    });
  }
  ~ScriptedNode() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  Address address() const { return {.host = "127.0.0.1", .port = port_}; }
  int played() const { return played_; }
  void wait_until_played(int scripts) const {
    while (played_ < scripts) std::this_thread::yield();
  }

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> played_ = 0;
  std::jthread thread_;
};

}  // namespace headrace::ignite

#pragma once

/// \file Stands between a client and a node. A test decides what happens to each request.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/net/ignite/message.h"

namespace headrace {

/// Requests are counted over all connections, handshakes included.
class FrameRelay {
 public:
  enum class Fate { kPass, kLoseResponse, kLoseRequest };
  /// Called before each request with its number, from 0, in a thread of the relay.
  using Decide = std::function<Fate(int number)>;

  FrameRelay(const ignite::Address& node, Decide decide) : node_(node), decide_(std::move(decide)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(listener_, 16) == 0)
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  ~FrameRelay() { close(); }
  FrameRelay(const FrameRelay&) = delete;
  FrameRelay& operator=(const FrameRelay&) = delete;

  ignite::Address address() const { return {.host = "127.0.0.1", .port = port_}; }
  int requests() const { return requests_; }

  /// Ends all connections, and accepts no more.
  void close() {
    is_closed_ = true;
    shutdown(listener_, SHUT_RDWR);
    if (acceptor_.joinable()) acceptor_.join();
    cut();
    std::vector<std::jthread> pumps;
    {
      const std::scoped_lock lock(mutex_);
      pumps.swap(pumps_);
    }
    pumps.clear();
    for (const int end : ends_) ::close(end);
    ends_.clear();
    if (listener_ >= 0) ::close(listener_);
    listener_ = -1;
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static bool read_all(int from, MutableBytesView target) {
    while (!target.empty()) {
      const ssize_t count = recv(from, target.data(), target.size(), 0);
      if (count <= 0) return false;
      target = target.subspan(static_cast<std::size_t>(count));
    }
    return true;
  }
  static void send_all(int to, BytesView data) {
    while (!data.empty()) {
      const ssize_t count = send(to, data.data(), data.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      data = data.subspan(static_cast<std::size_t>(count));
    }
  }
  // Reads a message, including its length. Empty: the connection has ended.
  static Bytes read_frame(int from) {
    Bytes frame(4);
    if (!read_all(from, frame)) return {};
    frame.resize(4 + static_cast<std::size_t>(load_little_endian<std::int32_t>(frame.data())));
    return read_all(from, MutableBytesView(frame).subspan(4)) ? frame : Bytes();
  }

  void accept_all() {
    while (!is_closed_) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      const int node = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in address = loopback(node_.port);
      const bool is_connected =
          connect(node, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
      const std::scoped_lock lock(mutex_);
      ends_.push_back(client);
      ends_.push_back(node);
      if (!is_connected) continue;
      const auto loses = std::make_shared<std::atomic<bool>>(false);
      pumps_.emplace_back([this, client, node, loses] { pump_requests(client, node, *loses); });
      pumps_.emplace_back([client, node, loses] { pump_responses(node, client, *loses); });
    }
  }
  void pump_requests(int client, int node, std::atomic<bool>& loses) {
    for (Bytes frame = read_frame(client); !frame.empty(); frame = read_frame(client)) {
      const Fate fate = decide_(requests_++);
      if (fate == Fate::kLoseRequest) break;
      if (fate == Fate::kLoseResponse) loses = true;
      send_all(node, frame);
    }
    if (!loses) shutdown(node, SHUT_RDWR);
    shutdown(client, SHUT_RDWR);
  }
  // Waits for a response before it loses it, so that the request was carried out.
  static void pump_responses(int node, int client, std::atomic<bool>& loses) {
    for (Bytes frame = read_frame(node); !frame.empty() && !loses; frame = read_frame(node))
      send_all(client, frame);
    shutdown(node, SHUT_RDWR);
    shutdown(client, SHUT_RDWR);
  }
  void cut() {
    const std::scoped_lock lock(mutex_);
    for (const int end : ends_) shutdown(end, SHUT_RDWR);
  }

  const ignite::Address node_;
  const Decide decide_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_closed_{false};
  std::atomic<int> requests_{0};
  std::mutex mutex_;
  std::vector<int> ends_{};
  std::vector<std::jthread> pumps_{};
  std::jthread acceptor_{};
};

}  // namespace headrace

#pragma once

/// \file The addresses of a server's name, cached for a while.

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/socket.h"

namespace headrace {

/// Thread-safe.
class HostAddresses {
 public:
  using Answer = Result<std::vector<SocketAddress>>;
  using Resolve = std::function<Answer(const std::string&, std::uint16_t)>;

  /// `resolver` may block for any time. It runs on a thread of its own, with at most one call for each name
  /// at a time.
  explicit HostAddresses(Resolve resolver = resolve) : resolve_(std::move(resolver)) {}

  /// All addresses, in the order in which this connection should try them. Each call puts another address of
  /// the preferred family first. None: the resolver has not answered yet; call again. If the last answer is
  /// older than 30 s, the resolver is asked again, and the last answer is used until it answers.
  /// \error kUnavailable  the resolver finds no address
  std::optional<Answer> of(const std::string& host, std::uint16_t port);

  /// To be called if no connection to the addresses succeeded. The next `of` waits for a new answer.
  void distrust(const std::string& host, std::uint16_t port);

 private:
  struct Known {
    std::vector<SocketAddress> addresses{};
    bool is_trusted = false;
    std::chrono::steady_clock::time_point since{};
    std::size_t next = 0;
    std::future<Answer> asked{};  // valid while the resolver is asked
  };
  std::future<Answer> ask(const std::string& host, std::uint16_t port) const;

  const Resolve resolve_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::uint16_t>, Known> known_;
};

}  // namespace headrace

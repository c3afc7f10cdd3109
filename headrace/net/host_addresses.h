#pragma once

/// \file The addresses of a server's name, remembered for a while.

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

  /// `resolver` may take as long as it likes: it runs on a thread of its own, once at a time for each name.
  explicit HostAddresses(Resolve resolver = resolve) : resolve_(std::move(resolver)) {}

  /// All addresses, in the order in which this connection should try them: each call puts another one of the
  /// preferred family first. None: the resolver has not answered yet; ask again. If its last answer is older
  /// than 30 s, the resolver is asked again, and the last answer stays good until then.
  /// \error kUnavailable  the resolver knows none
  std::optional<Answer> of(const std::string& host, std::uint16_t port);

  /// Call it if a connection to one of them failed: the next connection waits for a new answer.
  void distrust(const std::string& host, std::uint16_t port);

 private:
  struct Known {
    std::vector<SocketAddress> addresses{};
    bool is_trusted = false;
    std::chrono::steady_clock::time_point since{};
    std::size_t next = 0;
    std::future<Answer> asked{};  // of the resolver, if it is
  };
  std::future<Answer> ask(const std::string& host, std::uint16_t port) const;

  const Resolve resolve_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::uint16_t>, Known> known_;
};

}  // namespace headrace

#pragma once

/// \file Where the name of a server leads, remembered for a while. Internal to the HTTP client.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/io/platform/socket.h"

namespace headrace {

/// Thread-safe.
class HttpAddresses {
 public:
  using Resolve = std::function<Result<std::vector<SocketAddress>>(const std::string&, std::uint16_t)>;

  /// `ask` may take as long as it likes; who waits for it waits `longest_wait`.
  explicit HttpAddresses(Resolve ask = resolve,
                         std::chrono::milliseconds longest_wait = std::chrono::seconds(15))
      : resolve_(std::move(ask)), longest_wait_(longest_wait) {}

  /// All addresses, in the order in which this connection should try them: each time another of those of the
  /// preferred family comes first. The resolver is asked if its last answer is older than 30 s; this thread
  /// waits for it.
  /// \error kUnavailable  none is known, or the resolver says nothing for too long
  Result<std::vector<SocketAddress>> of(const std::string& host, std::uint16_t port);

  /// A connection there failed: the resolver is asked the next time.
  void distrust(const std::string& host, std::uint16_t port);

 private:
  struct Known {
    std::vector<SocketAddress> addresses;
    std::chrono::steady_clock::time_point since;
    std::size_t next = 0;
  };
  using Name = std::pair<std::string, std::uint16_t>;

  const Resolve resolve_;
  const std::chrono::milliseconds longest_wait_;
  std::mutex mutex_;
  std::map<Name, Known> known_;
};

}  // namespace headrace

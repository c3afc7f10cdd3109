#pragma once

/// \file Counters of a server, in Prometheus' text format, version 0.0.4.

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "headrace/base/result.h"
#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/cli/servers/serve/served_models.h"

namespace headrace {

/// Thread-safe.
class ServingMetrics {
 public:
  /// A request was answered. `protocol`: "rest-v1", "kserve-v2", "grpc-predict", "kserve-v2-grpc";
  /// `status`: of HTTP, for gRPC as http_status().
  void count(std::string_view model, std::string_view protocol, unsigned status,
             std::chrono::steady_clock::duration took);

  /// Under Headrace's names and under those of TensorFlow Serving.
  std::string text(const ServedModels& models, const HttpServerCounts& http) const;

 private:
  // Upper ends in seconds, each 1.8 times the one before, from 10 µs: those of TensorFlow Serving.
  static constexpr std::size_t kBuckets = 33;
  struct Latency {
    std::array<std::uint64_t, kBuckets + 1> counts{};
    double sum_s = 0;
  };
  using Key = std::tuple<std::string, std::string, unsigned>;  // model, protocol, status

  mutable std::mutex mutex_;
  std::map<Key, Latency, std::less<>> latencies_;
};

}  // namespace headrace

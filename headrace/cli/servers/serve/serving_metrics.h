#pragma once

/// \file Counters of a server, in Prometheus' text format, version 0.0.4.

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/cli/servers/serve/http_server.h"
#include "headrace/cli/servers/serve/served_models.h"

namespace headrace {

/// The requests of a model since the server started, those that were refused, too.
struct ModelTraffic {
  std::map<unsigned, std::uint64_t> statuses{};  // of HTTP
  /// By the time that they took: as many as latency_ends_s() has, and one more for longer ones.
  std::vector<std::uint64_t> latencies{};
};

/// Thread-safe.
class ServingMetrics {
 public:
  /// A request was answered. `protocol`: "rest-v1", "kserve-v2", "grpc-predict", "kserve-v2-grpc"; `api`:
  /// "predict", "classify", "regress", "multi_inference"; `status`: of HTTP, for gRPC as http_status().
  void count(std::string_view model, std::string_view protocol, std::string_view api, unsigned status,
             std::chrono::steady_clock::duration took);

  /// By model; of requests for a model that there is not, under "".
  std::map<std::string, ModelTraffic> traffic() const;
  /// Upper ends of ModelTraffic::latencies, in seconds, ascending.
  static std::vector<double> latency_ends_s();

  /// Under Headrace's names and under those of TensorFlow Serving.
  std::string text(const ServedModels& models, const HttpServerCounts& http) const;

 private:
  // Upper ends in seconds, each 1.8 times the one before, from 10 µs: those of TensorFlow Serving.
  static constexpr std::size_t kBuckets = 33;
  struct Latency {
    std::array<std::uint64_t, kBuckets + 1> counts{};
    double sum_s = 0;
  };
  struct Key {
    std::string model;
    std::string protocol;
    std::string api;
    unsigned status = 0;
    auto operator<=>(const Key&) const = default;
  };

  mutable std::mutex mutex_;
  std::map<Key, Latency> latencies_;
};

}  // namespace headrace

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

/// The requests of a model since the server started, including refused ones.
struct ModelTraffic {
  std::map<unsigned, std::uint64_t> statuses{};  // by HTTP status
  /// Numbers of requests by duration: one for each value of latency_ends_s(), and one for longer requests.
  std::vector<std::uint64_t> latencies{};
};

/// Counts the requests of a server. Thread-safe.
class ServingMetrics {
 public:
  /// Counts an answered request. `protocol`: "rest-v1", "kserve-v2", "grpc-predict", "kserve-v2-grpc"; `api`:
  /// "predict", "classify", "regress", "multi_inference"; `status`: the HTTP status; for gRPC, as
  /// http_status().
  void count(std::string_view model, std::string_view protocol, std::string_view api, unsigned status,
             std::chrono::steady_clock::duration took);

  /// The traffic of each model. Requests for unknown models are under "".
  std::map<std::string, ModelTraffic> traffic() const;
  /// Upper ends of ModelTraffic::latencies, in seconds, ascending.
  static std::vector<double> latency_ends_s();

  /// The metrics as text, with Headrace's names and with those of TensorFlow Serving.
  std::string text(const ServedModels& models, const HttpServerCounts& http) const;

 private:
  // Upper ends in seconds. Each is 1.8 times the previous one, from 10 µs on, as in TensorFlow Serving.
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

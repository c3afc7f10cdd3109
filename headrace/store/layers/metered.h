#pragma once

/// \file A store whose calls are counted and timed.

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/store/layers/intercepting.h"
#include "headrace/store/location.h"

namespace headrace {

/// Upper bounds of the histogram's buckets, in seconds. One more bucket, the last, has no bound.
inline constexpr std::array<double, 12> kLatencyBounds = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05,
                                                          0.1,    0.5,    1,     5,     10,   60};

/// Counts for the calls of one operation.
struct OperationMetrics {
  std::uint64_t calls = 0;
  std::map<Code, std::uint64_t> errors{};
  std::uint64_t moved_bytes = 0;  // read or written by calls that succeeded
  double seconds = 0;             // of all calls, including those that failed
  std::array<std::uint64_t, kLatencyBounds.size() + 1> latencies{};  // calls in each bucket
};

/// Counts for one store, or for several that share them. Thread-safe.
class StoreMetrics {
 public:
  void add(StoreOperation operation, const Status& status, std::uint64_t moved_bytes,
           std::chrono::steady_clock::duration time);
  OperationMetrics of(StoreOperation operation) const;
  /// Returns the counts in Prometheus' text exposition format, version 0.0.4: headrace_store_call_seconds (a
  /// histogram), headrace_store_errors_total and headrace_store_bytes_total, for each operation that was
  /// called. `labels` are added to every sample. Their names must be valid label names; their values may be
  /// any text.
  /// https://prometheus.io/docs/instrumenting/exposition_formats/
  std::string prometheus(const std::map<std::string, std::string>& labels = {}) const;

 private:
  mutable std::mutex mutex_;
  std::array<OperationMetrics, kStoreOperations> operations_{};
};

/// Returns a driver's counters in the same format: headrace_store_requests_total and so on.
std::string prometheus_of(const std::vector<StoreCounter>& counters,
                          const std::map<std::string, std::string>& labels = {});

/// A view of `store` that adds each call to `metrics`. The start of an upload, each piece and the commit are
/// separate calls.
std::unique_ptr<Store> make_metered(std::shared_ptr<Store> store, std::shared_ptr<StoreMetrics> metrics);

/// Returns the same place, seen through `make_metered`.
Location make_metered(Location location, std::shared_ptr<StoreMetrics> metrics);

}  // namespace headrace

#pragma once

/// \file Records the activities of the loader's threads over time, in Chrome's trace format
/// (chrome://tracing, Perfetto). Source: the document "Trace Event Format", a JSON object with complete
/// events ("ph": "X", times in µs).

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace headrace {

/// Keeps the first 65,536 events, or none if it is not enabled. Thread-safe.
class LoaderTrace {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LoaderTrace(bool enabled) : enabled_(enabled) {}

  /// Adds an event that began at `begin` and ends now. `stage` must live as long as the trace.
  /// \param number  the number of the batch or block, or a window's first position, for the viewer
  void add(const char* stage, std::size_t thread, std::uint64_t number, Clock::time_point begin);
  std::string json() const;

 private:
  struct Event {
    const char* stage;
    std::size_t thread;
    std::uint64_t number;
    Clock::time_point begin;
    Clock::duration duration;
  };
  const bool enabled_;
  const Clock::time_point start_ = Clock::now();
  mutable std::mutex mutex_;
  std::vector<Event> events_;
};

}  // namespace headrace

#pragma once

/// \file Decides how many requests one server gets at once, and when a request is sent a second time
/// (hedged). Internal to the HTTP client. docs/store-client.md explains why.

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace headrace {

/// The counters of one client for one endpoint so far.
struct HttpCounters {
  std::uint64_t requests = 0;     // sent, including those sent a second time
  std::uint64_t answers = 0;      // complete, with any status
  std::uint64_t overloads = 0;    // answers with status 429 or 503
  std::uint64_t resent = 0;       // sent again because a kept connection turned out to be closed
  std::uint64_t hedges = 0;       // sent a second time because the answer was late
  std::uint64_t hedges_won = 0;   // hedges that were answered first
  std::uint64_t moved_bytes = 0;  // of bodies, in both directions
  std::size_t limit = 0;          // current limit for requests in flight
};

/// The times until the first byte of an answer, by the size of the requested range. Old times slowly lose
/// weight. Not thread-safe.
class FirstByteTimes {
 public:
  using Duration = std::chrono::steady_clock::duration;
  /// `size_bytes` is the size of the requested range, or 0.
  void add(std::uint64_t size_bytes, Duration time);
  /// The waiting time after which a second request is worthwhile: the larger of 1.25 times the 95th
  /// percentile and twice the median. None before 50 answers of about that size.
  std::optional<Duration> unusual(std::uint64_t size_bytes) const;

 private:
  static constexpr std::size_t kBuckets = 128;
  struct Class {
    std::array<std::uint32_t, kBuckets> counts{};  // bucket b holds times from 2^(b/4) to 2^((b+1)/4) µs
    std::uint32_t total = 0;
    Duration quantile(double part) const;
  };
  static std::size_t class_of(std::uint64_t size_bytes);
  std::array<Class, 24> classes_{};
};

/// Finds, by trial, the number of requests in flight beyond which throughput no longer grows. Its value is a
/// function of the calls that it gets. Not thread-safe.
class InFlightLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  InFlightLimit(std::size_t first, std::size_t most) : limit_(std::min(first, most)), most_(most) {}

  std::size_t value() const { return limit_; }
  /// To be called when a request is over. It moved `bytes`; `was_full`: it took the last place when it began.
  void over(std::uint64_t bytes, bool was_full, Time now);
  /// To be called when no request is in flight any more.
  void idle() { window_begin_ = Time{}; }
  /// To be called when the server says that it is overloaded. Cuts the limit, at most every 100 ms.
  void overloaded(Time now);

 private:
  enum class Trial { kNone, kMore, kFewer };
  std::size_t step() const { return std::max<std::size_t>(1, limit_ / 8); }
  void end_window(double rate);
  void change(std::size_t limit);
  void begin_window(Time now);

  std::size_t limit_;
  const std::size_t most_;
  Trial trial_ = Trial::kNone;
  Trial next_trial_ = Trial::kMore;
  std::size_t before_ = 0;  // the limit before the trial
  double rate_before_ = 0;  // in bytes per second
  int windows_to_hold_ = 1;
  int hold_ = 1;
  bool is_settling_ = false;  // requests answered in this window began under another limit
  Time window_begin_{};       // Time{}: the window begins with the next answer
  Time no_cut_before_{};
  std::uint64_t window_bytes_ = 0;
  std::size_t window_answers_ = 0;
  std::size_t window_full_ = 0;
};

/// Thread-safe.
class HttpGovernor {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit HttpGovernor(std::size_t most_in_flight);

  enum class Begun { kNo, kYes, kInTheLastPlace };
  /// Takes a place for a request, if there is one. Call `end` once for each success.
  Begun try_begin();
  void end();
  struct Answer {
    bool is_read = true;  // GET, HEAD
    bool had_last_place = false;
    std::uint64_t size_bytes = 0;   // size of the requested range
    std::uint64_t moved_bytes = 0;  // size of both bodies
    FirstByteTimes::Duration first_byte{};
  };
  /// A complete answer arrived with a status other than 429 and 503.
  void answered(const Answer& answer, Time now);
  /// An answer with status 429 or 503 arrived.
  void overloaded(Time now);
  /// A request was sent again because a kept connection turned out to be closed.
  void resent();
  /// How long after its start a request without an answer should be sent a second time. None: never.
  std::optional<FirstByteTimes::Duration> hedge_after(std::uint64_t size_bytes) const;
  /// Whether a request may be sent a second time now. At most a twentieth of all requests are, and none
  /// within a second after an overload.
  bool may_hedge(Time now) const;
  /// A request was sent a second time.
  void hedged();
  /// A request that was sent a second time was answered first.
  void hedge_won();
  /// An attempt had no answer after the time `waited`, and the answer to the other attempt was used.
  void gave_up(std::uint64_t size_bytes, FirstByteTimes::Duration waited);

  HttpCounters counters() const;

 private:
  mutable std::mutex mutex_;
  InFlightLimit limit_;
  FirstByteTimes first_bytes_;
  std::size_t in_flight_ = 0;
  double hedge_tokens_ = 1;
  Time no_hedge_before_{};
  HttpCounters counters_;
};

}  // namespace headrace

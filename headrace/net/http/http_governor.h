#pragma once

/// \file How many requests one server gets at once, and when one is sent a second time. Internal to the HTTP
/// client; docs/store-client.md has the reasons.

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace headrace {

/// The counters of one client at one endpoint so far.
struct HttpCounters {
  std::uint64_t requests = 0;   // sent, second ones included
  std::uint64_t answers = 0;    // whole ones, of any status
  std::uint64_t overloads = 0;  // of these, 429 and 503
  std::uint64_t resent = 0;     // since a kept connection turned out to be closed
  std::uint64_t hedges = 0;
  std::uint64_t hedges_won = 0;
  std::uint64_t moved_bytes = 0;  // of bodies, both ways
  std::size_t limit = 0;          // of requests in flight, now
};

/// When the first byte of answers came, by the size of what was asked for. Forgets slowly. Not thread-safe.
class FirstByteTimes {
 public:
  using Duration = std::chrono::steady_clock::duration;
  /// `size_bytes`: of the range, or 0.
  void add(std::uint64_t size_bytes, Duration time);
  /// The waiting time that is so unusual that a second request pays; none before 50 answers of such a size.
  std::optional<Duration> unusual(std::uint64_t size_bytes) const;

 private:
  static constexpr std::size_t kBuckets = 128;
  struct Class {
    std::array<std::uint32_t, kBuckets> counts{};  // bucket b: from 2^(b/4) to 2^((b+1)/4) µs
    std::uint32_t total = 0;
    Duration quantile(double part) const;
  };
  static std::size_t class_of(std::uint64_t size_bytes);
  std::array<Class, 24> classes_{};
};

/// Finds the number of requests in flight beyond which there is no more throughput, by trying. Not
/// thread-safe; a pure function of what it is told.
class InFlightLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  InFlightLimit(std::size_t first, std::size_t most) : limit_(std::min(first, most)), most_(most) {}

  std::size_t value() const { return limit_; }
  /// A request is over that had so many bytes; it had taken the last place when it began, or not.
  void over(std::uint64_t bytes, bool was_full, Time now);
  /// Nothing is in flight any more.
  void idle() { window_begin_ = Time{}; }
  /// The server said that it has too much to do.
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
  double rate_before_ = 0;  // in bytes a second
  int windows_to_hold_ = 1;
  int hold_ = 1;
  bool is_settling_ = false;  // what is answered in this window began under another limit
  Time window_begin_{};       // none: with the next answer
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
  /// Each success is followed by one `end`.
  Begun try_begin();
  void end();
  struct Answer {
    bool is_read = true;  // GET, HEAD
    bool had_last_place = false;
    std::uint64_t size_bytes = 0;   // of the range that was asked for
    std::uint64_t moved_bytes = 0;  // of both bodies
    FirstByteTimes::Duration first_byte{};
  };
  /// A whole answer came, which was none of the following.
  void answered(const Answer& answer, Time now);
  /// 429 or 503 came.
  void overloaded(Time now);
  /// A request was sent again, since a kept connection turned out to be closed.
  void resent();
  /// When a request that is not answered yet should be sent a second time.
  std::optional<FirstByteTimes::Duration> hedge_after(std::uint64_t size_bytes) const;
  /// Whether it may be: at most a twentieth of all requests are.
  bool may_hedge(Time now) const;
  /// It was.
  void hedged();
  void hedge_won();
  /// No answer had come after that time, and another attempt's was taken.
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

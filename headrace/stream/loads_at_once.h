#pragma once

/// \file Decides how many blocks a loader requests from the store at the same time: as many as make the
/// loader faster. A distant store answers more requests in the same time. A near store shares the machine's
/// cores, so more requests only cost.

#include <cstdint>

namespace headrace {

/// Tries twice as many loads, and half as many, and keeps the smallest number beyond which doubling hardly
/// helps. Tries again after a while. Counts only the time in which the caller waits, because then everything
/// waits for loading. Not thread-safe.
class LoadsAtOnce {
 public:
  /// \param begin  the number until something is known
  /// \param least  the smallest number worth trying once threads are known to wait mostly for the store
  /// \param most   the largest number to try
  LoadsAtOnce(int begin, int least, int most) : limit_(begin), least_(least), most_(most) {}

  int limit() const { return limit_; }

  /// Call this when threads mostly wait for the store. The loader's caller has waited for `seconds`; in that
  /// time, `blocks` blocks with `bytes` bytes in total were loaded.
  void add(double seconds, std::uint64_t blocks, std::uint64_t bytes);

 private:
  enum class Trial { kNone, kMore, kFewer };

  void judge(double rate);
  void attempt(Trial trial);
  void begin_period();

  int limit_;
  const int least_;
  const int most_;
  Trial trial_ = Trial::kNone;
  int settled_ = 0;  // the limit before the trial, and its rate in bytes per second
  double settled_rate_ = 0;
  bool has_risen_ = false;  // since the last rest; then fewer need not be tried
  double rest_seconds_ = 0;
  double seconds_ = 0, bytes_ = 0;  // of this period
  std::uint64_t blocks_ = 0;
};

}  // namespace headrace

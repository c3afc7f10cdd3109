#pragma once

/// \file How many blocks a loader asks the store for at once: as many as make it faster. A far store answers
/// more in the same time; a near one shares the machine's cores, and more only cost.

#include <cstdint>

namespace headrace {

/// Tries twice as many, and half as many, and keeps the least number that doubling makes hardly faster; looks
/// again after a while. Counts only the time in which the caller waits: that is when everything waits for
/// loading. Not thread-safe.
class LoadsAtOnce {
 public:
  /// \param begin  until anything is known
  /// \param least  that are worth trying, when it is known that threads mostly wait for the store
  LoadsAtOnce(int begin, int least, int most) : limit_(begin), least_(least), most_(most) {}

  int limit() const { return limit_; }

  /// Threads mostly wait for the store. The caller has waited for `seconds`, and meanwhile `blocks` of
  /// together `bytes` were loaded.
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
  int settled_ = 0;  // the limit before the trial, and what it gave, in bytes a second
  double settled_rate_ = 0;
  bool has_risen_ = false;  // since the last rest: fewer were tried already
  double rest_seconds_ = 0;
  double seconds_ = 0, bytes_ = 0;  // of this period
  std::uint64_t blocks_ = 0;
};

}  // namespace headrace

#include "headrace/stream/loads_at_once.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr double kLeastSeconds = 0.1;
// With fewer blocks for each load, the measured rate would depend mostly on how far the current loads are,
// not on the store.
constexpr std::uint64_t kBlocksForEach = 4;
// Doubling the number of loads must make loading faster by this factor.
constexpr double kWorthwhile = 1.2;
// Seconds of waiting until the next trial.
constexpr double kRestSeconds = 30;

}  // namespace

void LoadsAtOnce::add(double seconds, std::uint64_t blocks, std::uint64_t bytes) {
  if (limit_ >= most_ && least_ >= most_) return;
  rest_seconds_ -= seconds;
  if (rest_seconds_ > 0) return;
  seconds_ += seconds;
  blocks_ += blocks;
  bytes_ += static_cast<double>(bytes);
  if (seconds_ < kLeastSeconds) return;
  if (limit_ < least_ || (blocks_ == 0 && limit_ < most_)) {
    // Nothing is known yet, nor will it be soon, and loads that only wait cost nothing.
    limit_ = std::clamp(2 * limit_, least_, most_);
    trial_ = Trial::kNone;
    begin_period();
  } else if (blocks_ >= kBlocksForEach * static_cast<std::uint64_t>(limit_)) {
    judge(bytes_ / seconds_);
  }
}

void LoadsAtOnce::judge(double rate) {
  const bool is_kept =
      trial_ == Trial::kNone ||
      (trial_ == Trial::kMore ? rate >= kWorthwhile * settled_rate_ : settled_rate_ < kWorthwhile * rate);
  if (is_kept) {
    settled_ = limit_;
    settled_rate_ = rate;
    has_risen_ |= trial_ == Trial::kMore;
    return attempt(trial_ == Trial::kFewer ? Trial::kFewer : Trial::kMore);
  }
  limit_ = settled_;
  attempt(trial_ == Trial::kMore && !has_risen_ ? Trial::kFewer : Trial::kNone);
}

// Tries this direction, or the other one if this one is exhausted, or rests.
void LoadsAtOnce::attempt(Trial trial) {
  if (trial == Trial::kMore && limit_ == most_) trial = has_risen_ ? Trial::kNone : Trial::kFewer;
  if (trial == Trial::kFewer && limit_ == least_) trial = Trial::kNone;
  trial_ = trial;
  if (trial == Trial::kNone) {
    rest_seconds_ = kRestSeconds;
    has_risen_ = false;
  } else {
    limit_ = trial == Trial::kMore ? std::min(2 * limit_, most_) : std::max(limit_ / 2, least_);
  }
  begin_period();
}

void LoadsAtOnce::begin_period() {
  seconds_ = bytes_ = 0;
  blocks_ = 0;
}

}  // namespace headrace

#include "headrace/engine/tensorflow/watchdog.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

namespace headrace::tensorflow {

namespace {
using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLongestInterval{1000};
constexpr std::chrono::milliseconds kShortestInterval{1};
}  // namespace

Watchdog::Watchdog(std::chrono::milliseconds deadline, std::function<void()> expired)
    : deadline_(deadline),
      expired_(std::move(expired)),
      thread_([this](const std::stop_token& stop) { wait(stop); }) {}

Watchdog::~Watchdog() = default;

void Watchdog::wait(const std::stop_token& stop) {
  const auto interval = std::clamp(deadline_ / 4, kShortestInterval, kLongestInterval);
  std::condition_variable_any wake;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake.wait_for(lock, stop, interval, [] { return false; });
    if (started_.empty() || Clock::now() - *started_.begin() < deadline_) continue;
    has_expired_ = true;
    lock.unlock();
    expired_();
    return;
  }
}

bool Watchdog::has_expired() const {
  const std::lock_guard lock(mutex_);
  return has_expired_;
}

Watchdog::Watch::Watch(Watchdog* watchdog) : watchdog_(watchdog) {
  if (watchdog_ == nullptr) return;
  const std::lock_guard lock(watchdog_->mutex_);
  start_ = watchdog_->started_.insert(Clock::now());
}

Watchdog::Watch::~Watch() {
  if (watchdog_ == nullptr) return;
  const std::lock_guard lock(watchdog_->mutex_);
  watchdog_->started_.erase(start_);
}

}  // namespace headrace::tensorflow

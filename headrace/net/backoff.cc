#include "headrace/net/backoff.h"

#include <algorithm>
#include <condition_variable>

#include "headrace/base/hash.h"

namespace headrace {

Backoff::Backoff(const BackoffOptions& options, std::uint64_t seed)
    : options_(options), seed_(seed), previous_(options.shortest) {}

std::chrono::milliseconds Backoff::next() {
  const std::uint64_t draw = siphash({.low = seed_, .high = 0}, drawn_++);
  const auto span = static_cast<std::uint64_t>((3 * previous_ - options_.shortest).count()) + 1;
  const auto wait = options_.shortest + std::chrono::milliseconds(draw % span);
  previous_ = std::clamp(wait, options_.shortest, options_.longest);
  return previous_;
}

bool sleep_unless_stopped(std::chrono::milliseconds duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

bool RetryBudget::take() {
  const std::scoped_lock lock(mutex_);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

void RetryBudget::succeeded() {
  const std::scoped_lock lock(mutex_);
  tokens_ = std::min(capacity_, tokens_ + 0.25);
}

}  // namespace headrace

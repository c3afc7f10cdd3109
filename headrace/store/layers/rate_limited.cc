#include "headrace/store/layers/rate_limited.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/net/backoff.h"
#include "headrace/store/layers/intercepting.h"

namespace headrace {
namespace {

class RateLimitedStore final : public InterceptingStore {
 public:
  RateLimitedStore(std::shared_ptr<Store> store, const RateLimits& limits)
      : InterceptingStore(std::move(store)),
        requests_(limits.requests_per_second, limits.burst_seconds),
        bytes_(limits.bytes_per_second, limits.burst_seconds) {}

 private:
  Status around(StoreCall& call, const std::function<Status()>& go_on) override {
    HEADRACE_CHECK(wait_for(requests_, 1, "requests", call));
    HEADRACE_CHECK(wait_for(bytes_, static_cast<double>(call.asked_bytes), "bytes", call));
    const Status status = go_on();
    bytes_.give_back(static_cast<double>(call.asked_bytes - std::min(call.asked_bytes, call.moved_bytes)));
    return status;
  }

  Status wait_for(TokenBucket& bucket, double tokens, std::string_view of_what, const StoreCall& call) {
    using std::chrono::milliseconds;
    const auto wait = bucket.take(tokens, TokenBucket::Clock::now(), call.options.deadline);
    const auto doing = [&] { return concat(operation_name(call.operation), " of ", describe(call.key)); };
    if (wait > call.options.deadline) {
      return Error{Code::kDeadlineExceeded,
                   concat(doing(), ": the limit of ", of_what, " per second would make it wait for ",
                          std::chrono::ceil<milliseconds>(wait).count(),
                          " ms, longer than it may take; raise the limit, or do less at once")};
    }
    if (wait <= TokenBucket::Clock::duration::zero()) return {};
    if (sleep_unless_stopped(std::chrono::ceil<milliseconds>(wait), call.options.stop)) return {};
    bucket.give_back(tokens);
    return Error{Code::kCancelled, concat(doing(), " was stopped while it waited for its turn")};
  }

  TokenBucket requests_;
  TokenBucket bytes_;
};

}  // namespace

TokenBucket::TokenBucket(double per_second, double burst_seconds)
    : per_second_(per_second),
      burst_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(burst_seconds))) {}

TokenBucket::Clock::duration TokenBucket::time_of(double tokens) const {
  if (per_second_ <= 0) return Clock::duration::zero();
  constexpr double kLongest = 1e8;  // seconds: three years
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(tokens / per_second_, kLongest)));
}

TokenBucket::Clock::duration TokenBucket::take(double tokens, Clock::time_point now,
                                               Clock::duration patience) {
  const std::scoped_lock lock(mutex_);
  empty_until_ = std::max(empty_until_, now - burst_);
  const Clock::duration wait = std::max(empty_until_ - now, Clock::duration::zero());
  if (wait <= patience) empty_until_ += time_of(tokens);
  return wait;
}

void TokenBucket::give_back(double tokens) {
  const std::scoped_lock lock(mutex_);
  empty_until_ -= time_of(tokens);
}

std::unique_ptr<Store> make_rate_limited(std::shared_ptr<Store> store, const RateLimits& limits) {
  return std::make_unique<RateLimitedStore>(std::move(store), limits);
}

Location make_rate_limited(Location location, const RateLimits& limits) {
  location.store = make_rate_limited(std::move(location.store), limits);
  return location;
}

}  // namespace headrace

#include "headrace/store/s3/credentials/provider.h"

#include <algorithm>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr seconds kRenewBefore{300};
constexpr seconds kRenewJitter{60};
constexpr seconds kPauseAfterFailure{30};
// If new keys are refused, the source would return the same keys again.
constexpr seconds kPauseAfterSuccess{30};
// Keys that have already expired by this machine's clock when they arrive are used for this long, and then
// fetched again.
constexpr seconds kLeastUse{60};
constexpr std::chrono::milliseconds kPatienceAhead{5'000};

// Turns exceptions into errors, because other threads wait for the end of a fetch.
Result<S3Credentials> fetch_from(const CredentialsSource& source, const FetchLimits& limits) {
  try {
    return source.fetch(limits);
  } catch (const std::exception& thrown) {
    return Error{Code::kInternal, thrown.what()};
  }
}

}  // namespace

CredentialsProvider::CredentialsProvider(CredentialsSource source, Clock now)
    : source_(std::move(source)), now_(std::move(now)) {}

Result<CredentialsProvider::Current> CredentialsProvider::get(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto now = now_();
    const bool is_good = has_good(now);
    if (is_good && (is_fetching_ || now < renew_at_)) return current_;
    if (!is_fetching_) return fetch(lock, is_good, stop);
    const std::uint64_t before = fetches_;
    if (!fetch_over_.wait(lock, stop, [&] { return fetches_ != before; }))
      return Error{Code::kCancelled, "stopped while waiting for credentials"};
    if (!last_) return last_.error();
  }
}

Result<CredentialsProvider::Current> CredentialsProvider::at_hand() {
  const std::scoped_lock lock(mutex_);
  if (has_good(now_())) return current_;
  return Error{Code::kUnauthenticated, concat("s3: the keys from ", source_.name, " are no longer valid")};
}

Result<CredentialsProvider::Current> CredentialsProvider::fetch(std::unique_lock<std::mutex>& lock,
                                                                bool is_ahead_of_time,
                                                                const std::stop_token& stop) {
  is_fetching_ = true;
  lock.unlock();
  FetchLimits limits{.stop = stop};
  if (is_ahead_of_time) limits.patience = kPatienceAhead;
  Result<S3Credentials> fetched = fetch_from(source_, limits);
  lock.lock();
  is_fetching_ = false;
  ++fetches_;
  last_ = {};
  fetch_over_.notify_all();
  if (fetched) {
    keep(*std::move(fetched));
  } else if (is_ahead_of_time) {
    renew_at_ = now_() + kPauseAfterFailure;
  } else {
    Error error = std::move(fetched).error().in(concat("s3: credentials from ", source_.name));
    // A caller's stop is not an error of the source, so each waiting caller tries for itself.
    if (error.code != Code::kCancelled) last_ = error;
    return error;
  }
  return current_;
}

void CredentialsProvider::keep(S3Credentials fetched) {
  const auto now = now_();
  good_until_ = renew_at_ = system_clock::time_point::max();
  if (fetched.expires) {
    const seconds jitter(random_name_bits() % kRenewJitter.count());
    good_until_ = std::max(*fetched.expires, now + kLeastUse);
    renew_at_ = std::max(good_until_ - kRenewBefore - jitter, now + (good_until_ - now) / 2);
  }
  current_ = std::make_shared<const S3Credentials>(std::move(fetched));
  fetched_at_ = now;
  is_refused_ = false;
}

bool CredentialsProvider::has_good(system_clock::time_point now) const {
  return current_ && !is_refused_ && now < good_until_;
}

bool CredentialsProvider::may_wait() {
  const std::scoped_lock lock(mutex_);
  const auto now = now_();
  return !has_good(now) || (now >= renew_at_ && !is_fetching_);
}

bool CredentialsProvider::refuse(const Current& refused) {
  if (!source_.is_renewable) return false;
  const std::scoped_lock lock(mutex_);
  if (current_ != refused) return true;
  const auto now = now_();
  const bool is_new = now >= fetched_at_ && now - fetched_at_ < kPauseAfterSuccess;
  is_refused_ = is_refused_ || !is_new;
  return is_refused_;
}

}  // namespace headrace

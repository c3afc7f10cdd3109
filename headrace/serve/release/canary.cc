#include "headrace/serve/release/canary.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSlices = 10;  // slices in a window
// If a larger share of requests is slow, the 99th percentile is above the bound. A single one proves nothing.
constexpr double kSlowShareMax = 0.01;
constexpr std::uint64_t kSlowMax = 1;

struct Tally {
  std::uint64_t requests = 0;
  std::uint64_t failed = 0;
  std::uint64_t slow = 0;
  std::uint64_t rejected = 0;  // counted in none of the above
  // Requests that went to other versions.
  std::uint64_t others = 0;
  std::uint64_t others_rejected = 0;

  void add(const Tally& other) {
    requests += other.requests;
    failed += other.failed;
    slow += other.slow;
    rejected += other.rejected;
    others += other.others;
    others_rejected += other.others_rejected;
  }

  // Rejections that chance does not explain, if the canary rejects the same share of requests as the others.
  // Chance explains three standard deviations of a binomial distribution. One rejection in two requests is
  // added to the others, so that without other requests nothing is concluded.
  std::uint64_t unexplained_rejections() const {
    const double share = static_cast<double>(others_rejected + 1) / static_cast<double>(others + 2);
    const auto all = static_cast<double>(requests + rejected);
    const double explained = all * share + 3 * std::sqrt(all * share * (1 - share));
    return static_cast<std::uint64_t>(std::max(static_cast<double>(rejected) - explained, 0.0));
  }
};

struct Slice {
  std::int64_t number = 0;  // counted from the clock's epoch
  Tally tally{};
};

std::string version_text(const VersionName& version) {
  if (const auto* const number = std::get_if<std::uint64_t>(&version)) return concat(*number);
  return std::get<std::string>(version);
}

}  // namespace

struct CanaryRequest::State {
  State(std::string model_name, CanaryOptions its_options, std::function<void(const std::string&)> its_remark,
        std::function<Clock::time_point()> its_now)
      : model(std::move(model_name)),
        options(std::move(its_options)),
        remark(std::move(its_remark)),
        now(std::move(its_now)) {}

  const std::string model;
  const CanaryOptions options;
  const std::function<void(const std::string&)> remark;
  const std::function<Clock::time_point()> now;

  std::atomic<bool> is_withdrawn = false;
  mutable std::mutex mutex{};
  std::uint64_t version = 0;
  std::uint64_t generation = 0;  // grows with each change of version
  std::multiset<Clock::time_point> in_flight{};
  std::deque<Slice> slices{};
  Tally total{};
  std::string reason{};

  // REQUIRES: the mutex is held
  void drop_old_slices();
  void add(const Tally& tally);
  std::optional<std::string> passed_bound() const;

  // Withdraws the canary if it has passed a bound. REQUIRES: the mutex is not held
  void judge();
};

void CanaryRequest::State::drop_old_slices() {
  const auto slice_time = std::max<Clock::duration>(options.window / kSlices, std::chrono::milliseconds(1));
  const std::int64_t current = now().time_since_epoch() / slice_time;
  while (!slices.empty() && slices.front().number <= current - kSlices) slices.pop_front();
  if (slices.empty() || slices.back().number != current) slices.push_back({.number = current});
}

void CanaryRequest::State::add(const Tally& tally) {
  drop_old_slices();
  slices.back().tally.add(tally);
  total.add(tally);
}

std::optional<std::string> CanaryRequest::State::passed_bound() const {
  Tally window;
  for (const Slice& slice : slices) window.add(slice.tally);
  if (options.max_latency) {
    // Requests that run longer than max-latency are slow before they end.
    const auto end = in_flight.lower_bound(now() - *options.max_latency);
    const auto overdue = static_cast<std::uint64_t>(std::distance(in_flight.begin(), end));
    window.add({.requests = overdue, .slow = overdue});
  }
  const std::uint64_t unexplained = window.unexplained_rejections();
  window.add({.requests = unexplained, .failed = unexplained});
  if (window.requests < options.min_requests || window.requests == 0) return std::nullopt;
  const auto share = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(window.requests);
  };
  if (options.max_error_rate && share(window.failed) > *options.max_error_rate) {
    return concat(window.failed, " of ", window.requests, " requests failed; max-error-rate is ",
                  *options.max_error_rate);
  }
  if (options.max_latency && window.slow > kSlowMax && share(window.slow) > kSlowShareMax) {
    return concat(window.slow, " of ", window.requests, " requests took longer than max-latency, ",
                  options.max_latency->count(), " ms");
  }
  return std::nullopt;
}

void CanaryRequest::State::judge() {
  std::optional<std::string> why;
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex);
    if (is_withdrawn) return;
    drop_old_slices();
    why = passed_bound();
    if (!why) return;
    is_withdrawn = true;
    reason = *why;
    number = version;
  }
  remark(concat(model, ": the canary, version ", number, ", is withdrawn: ", *why));
}

CanaryRequest& CanaryRequest::operator=(CanaryRequest&& other) noexcept {
  if (this == &other) return *this;
  finish(Outcome::kNotCounted);
  state_ = std::move(other.state_);
  generation_ = other.generation_;
  start_ = other.start_;
  return *this;
}

void CanaryRequest::finish(Outcome outcome) {
  const auto state = std::exchange(state_, nullptr);
  if (!state) return;
  {
    const std::scoped_lock lock(state->mutex);
    // `begin` of another version has dropped the requests of earlier versions.
    if (state->generation != generation_) return;
    const auto took = state->now() - *start_;
    state->in_flight.erase(start_);
    if (outcome == Outcome::kNotCounted) return;
    const bool is_slow = state->options.max_latency && took > *state->options.max_latency;
    if (outcome == Outcome::kGivenUp && !is_slow) return;
    if (outcome == Outcome::kRejected) {
      state->add({.rejected = 1});
    } else {
      state->add({.requests = 1, .failed = outcome == Outcome::kFailed ? 1U : 0U, .slow = is_slow ? 1U : 0U});
    }
  }
  state->judge();
}

std::chrono::nanoseconds CanaryRequest::age() const {
  if (!state_) return {};
  const std::scoped_lock lock(state_->mutex);
  return state_->generation == generation_ ? state_->now() - *start_ : std::chrono::nanoseconds{};
}

Canary::Canary(std::string model, CanaryOptions options, std::function<void(const std::string&)> remark,
               std::function<Clock::time_point()> now)
    : hash_salt_(siphash({}, as_bytes(concat(model, '\0', version_text(options.version))))),
      state_(std::make_shared<CanaryRequest::State>(std::move(model), std::move(options), std::move(remark),
                                                    std::move(now))) {}

const CanaryOptions& Canary::options() const { return state_->options; }

bool Canary::draws(std::optional<std::string_view> client) {
  if (state_->is_withdrawn) return false;
  const std::uint64_t weight = options().weight;
  if (client) return siphash({.low = hash_salt_}, as_bytes(*client)) % kFullShare < weight;
  return share_.next(weight);
}

CanaryRequest Canary::begin(std::uint64_t version) {
  CanaryRequest out;
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->version != version) {
      state_->version = version;
      ++state_->generation;
      state_->in_flight.clear();
      state_->slices.clear();
    }
    out = CanaryRequest(state_, state_->generation, state_->in_flight.insert(state_->now()));
  }
  state_->judge();
  return out;
}

void Canary::count_other(CanaryRequest::Outcome outcome) {
  using Outcome = CanaryRequest::Outcome;
  if (outcome == Outcome::kNotCounted || outcome == Outcome::kGivenUp) return;
  const std::scoped_lock lock(state_->mutex);
  state_->add({.others = 1, .others_rejected = outcome == Outcome::kRejected ? 1U : 0U});
}

Canary::Counts Canary::counts() const {
  state_->judge();
  const std::scoped_lock lock(state_->mutex);
  const Tally& total = state_->total;
  Counts out{
      .requests = total.requests, .failed = total.failed, .slow = total.slow, .rejected = total.rejected};
  if (state_->is_withdrawn) out.withdrawn = state_->reason;
  return out;
}

}  // namespace headrace

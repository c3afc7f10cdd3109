#include "headrace/net/http/http_governor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace headrace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kFirstLimit = 8;
constexpr std::uint32_t kAnswersToLearnFrom = 50;
constexpr std::uint32_t kAnswersToRemember = 1'000;
constexpr std::size_t kWindowAnswers = 32;
constexpr milliseconds kWindowTime{50};
constexpr std::uint64_t kBytesPerAnswer = 16 << 10;  // an answer counts as this many bytes besides its own
// The least share of the gain that a step would bring if throughput grew with the limit.
constexpr double kWorthIt = 1.0 / 3;
constexpr int kLongestHold = 64;  // windows
constexpr double kHedgeTokensPerRequest = 0.05;
constexpr double kMostHedgeTokens = 8;
constexpr milliseconds kCalmAfterOverload{1'000};
constexpr milliseconds kBetweenCuts{100};

}  // namespace

// ---- FirstByteTimes

std::size_t FirstByteTimes::class_of(std::uint64_t size_bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(size_bytes)) / 2, 23);
}

void FirstByteTimes::add(std::uint64_t size_bytes, Duration time) {
  Class& of = classes_[class_of(size_bytes)];
  const double microseconds = std::max(1.0, std::chrono::duration<double, std::micro>(time).count());
  const auto bucket = static_cast<std::size_t>(4 * std::log2(microseconds));
  ++of.counts[std::min(bucket, kBuckets - 1)];
  if (++of.total < kAnswersToRemember) return;
  of.total = 0;
  for (std::uint32_t& count : of.counts) of.total += count /= 2;
}

FirstByteTimes::Duration FirstByteTimes::Class::quantile(double part) const {
  const double wanted = part * total;
  double seen = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < kBuckets && (seen += counts[bucket]) < wanted) ++bucket;
  const double microseconds = std::exp2((static_cast<double>(bucket) + 1) / 4);  // the bucket's end
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::micro>(microseconds));
}

std::optional<FirstByteTimes::Duration> FirstByteTimes::unusual(std::uint64_t size_bytes) const {
  const Class& of = classes_[class_of(size_bytes)];
  if (of.total < kAnswersToLearnFrom) return std::nullopt;
  return std::max(of.quantile(0.95) * 5 / 4, of.quantile(0.5) * 2);
}

// ---- InFlightLimit

void InFlightLimit::begin_window(Time now) {
  window_begin_ = now;
  window_bytes_ = 0;
  window_answers_ = window_full_ = 0;
}

void InFlightLimit::over(std::uint64_t bytes, bool was_full, Time now) {
  if (window_begin_ == Time{}) return begin_window(now);
  window_bytes_ += bytes + kBytesPerAnswer;
  ++window_answers_;
  window_full_ += was_full;
  if (window_answers_ < std::max(limit_, kWindowAnswers) || now - window_begin_ < kWindowTime) return;
  // If callers want fewer requests than the limit allows, throughput says nothing about the limit.
  const bool tells = 2 * window_full_ >= window_answers_ && !std::exchange(is_settling_, false);
  if (tells)
    end_window(static_cast<double>(window_bytes_) /
               std::chrono::duration<double>(now - window_begin_).count());
  begin_window(now);
}

void InFlightLimit::change(std::size_t limit) {
  limit_ = std::clamp<std::size_t>(limit, 1, most_);
  is_settling_ = true;
}

void InFlightLimit::end_window(double rate) {
  const auto try_on = [&] {
    rate_before_ = rate;
    before_ = limit_;
    change(trial_ == Trial::kMore ? limit_ + step() : limit_ - std::min(step(), limit_ - 1));
  };
  if (trial_ == Trial::kNone) {
    if (--windows_to_hold_ > 0) return;
    trial_ = next_trial_;
    return try_on();
  }
  const double step_ratio = static_cast<double>(limit_) / static_cast<double>(before_);
  const double wanted = rate_before_ * (1 + (step_ratio - 1) * kWorthIt);
  if (limit_ != before_ && rate > wanted) {  // continue in the same direction
    hold_ = 1;
    return try_on();
  }
  change(before_);
  next_trial_ = trial_ == Trial::kMore ? Trial::kFewer : Trial::kMore;
  trial_ = Trial::kNone;
  windows_to_hold_ = hold_ = std::min(2 * hold_, kLongestHold);
}

void InFlightLimit::overloaded(Time now) {
  if (now < no_cut_before_) return;
  change(limit_ * 7 / 10);
  no_cut_before_ = now + kBetweenCuts;
  trial_ = Trial::kNone;
  next_trial_ = Trial::kMore;
  windows_to_hold_ = hold_ = 1;
  begin_window(now);
}

// ---- HttpGovernor

HttpGovernor::HttpGovernor(std::size_t most_in_flight) : limit_(kFirstLimit, most_in_flight) {}

HttpGovernor::Begun HttpGovernor::try_begin() {
  const std::scoped_lock lock(mutex_);
  if (in_flight_ >= limit_.value()) return Begun::kNo;
  ++in_flight_;
  ++counters_.requests;
  hedge_tokens_ = std::min(hedge_tokens_ + kHedgeTokensPerRequest, kMostHedgeTokens);
  return in_flight_ == limit_.value() ? Begun::kInTheLastPlace : Begun::kYes;
}

void HttpGovernor::end() {
  const std::scoped_lock lock(mutex_);
  if (--in_flight_ == 0) limit_.idle();
}

void HttpGovernor::answered(const Answer& answer, Time now) {
  const std::scoped_lock lock(mutex_);
  ++counters_.answers;
  counters_.moved_bytes += answer.moved_bytes;
  if (answer.is_read) first_bytes_.add(answer.size_bytes, answer.first_byte);
  limit_.over(answer.moved_bytes, answer.had_last_place, now);
}

void HttpGovernor::overloaded(Time now) {
  const std::scoped_lock lock(mutex_);
  ++counters_.answers;
  ++counters_.overloads;
  no_hedge_before_ = now + kCalmAfterOverload;
  limit_.overloaded(now);
}

void HttpGovernor::resent() {
  const std::scoped_lock lock(mutex_);
  ++counters_.requests;
  ++counters_.resent;
}

std::optional<FirstByteTimes::Duration> HttpGovernor::hedge_after(std::uint64_t size_bytes) const {
  const std::scoped_lock lock(mutex_);
  return first_bytes_.unusual(size_bytes);
}

bool HttpGovernor::may_hedge(Time now) const {
  const std::scoped_lock lock(mutex_);
  return hedge_tokens_ >= 1 && now >= no_hedge_before_;
}

void HttpGovernor::hedged() {
  const std::scoped_lock lock(mutex_);
  hedge_tokens_ -= 1;
  ++counters_.hedges;
  ++counters_.requests;
}

void HttpGovernor::gave_up(std::uint64_t size_bytes, FirstByteTimes::Duration waited) {
  const std::scoped_lock lock(mutex_);
  first_bytes_.add(size_bytes, waited);
}

void HttpGovernor::hedge_won() {
  const std::scoped_lock lock(mutex_);
  ++counters_.hedges_won;
}

HttpCounters HttpGovernor::counters() const {
  const std::scoped_lock lock(mutex_);
  HttpCounters counters = counters_;
  counters.limit = limit_.value();
  return counters;
}

}  // namespace headrace

#pragma once

/// \file Sends a share of the requests to one version of a model, and withdraws it if it fails or is slow.
/// docs/decisions/serving.md, "Releases".
///
///   if (canary.draws(client)) {
///     CanaryRequest request = canary.begin(version->number());
///     …                                   // answer
///     request.finish(CanaryRequest::Outcome::kAnswered);
///   }

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "headrace/serve/live_model/live_model.h"
#include "headrace/serve/release/exact_share.h"

namespace headrace {

struct CanaryOptions {
  VersionName version;
  /// Share of the requests that name no version, in hundredths of a percent: from 0 to kFullShare.
  std::uint64_t weight = 0;
  /// HTTP header or gRPC metadata key whose value decides; empty: each request is drawn independently.
  std::string sticky_header{};
  /// Largest share of failed requests, from 0 to 1; nullopt: no bound. Rejected requests count as failed as
  /// far as there are more of them than chance explains, given the rejections of the other versions.
  std::optional<double> max_error_rate{};
  /// Bound on the 99th percentile; nullopt: no bound. A single slow request does not exceed it.
  std::optional<std::chrono::milliseconds> max_latency{};
  /// The bounds apply to the requests of the last `window`, if these are at least `min_requests`.
  std::chrono::milliseconds window{60'000};
  std::uint64_t min_requests = 20;
  bool operator==(const CanaryOptions&) const = default;
};

class Canary;

/// A request that goes to the canary. Movable; use it from one thread at a time. It may outlive the canary.
/// If it is destroyed without `finish`, it is not counted.
class CanaryRequest {
 public:
  enum class Outcome : std::uint8_t {
    kAnswered,
    kFailed,      // through the version's fault
    kGivenUp,     // the client stopped waiting: counted only if the request was already slow
    kRejected,    // the version refused the values: through its own or the client's fault
    kNotCounted,  // failed through the client's or the server's fault
  };
  CanaryRequest() = default;
  CanaryRequest(CanaryRequest&&) noexcept = default;
  CanaryRequest& operator=(CanaryRequest&& other) noexcept;
  ~CanaryRequest() { finish(Outcome::kNotCounted); }
  /// Only the first call counts.
  void finish(Outcome outcome);
  /// Time since `begin`; 0 if the request is no longer counted.
  std::chrono::nanoseconds age() const;

 private:
  friend class Canary;
  using Start = std::multiset<std::chrono::steady_clock::time_point>::iterator;
  struct State;
  CanaryRequest(std::shared_ptr<State> state, std::uint64_t generation, Start start)
      : state_(std::move(state)), generation_(generation), start_(start) {}

  std::shared_ptr<State> state_;  // null: no longer counted
  std::uint64_t generation_ = 0;
  Start start_{};
};

/// The canary of one model. Thread-safe.
class Canary {
 public:
  /// `model` is the model's name. `remark` is called from any thread when the canary is withdrawn.
  Canary(std::string model, CanaryOptions options, std::function<void(const std::string&)> remark,
         std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now);

  const CanaryOptions& options() const;

  /// Whether a request that names no version should go to the canary. `client` is the value of the sticky
  /// header: the result for a value is always the same, on all servers. At most n·weight/kFullShare of the
  /// first n requests without a value go to the canary. No request does once the canary is withdrawn.
  bool draws(std::optional<std::string_view> client);

  /// Counts a request that goes to the canary. `version` is the version that CanaryOptions::version stands
  /// for now. If it differs from the last one, a new window begins.
  CanaryRequest begin(std::uint64_t version);

  /// Counts the outcome of a request that could have gone to the canary and went to another version.
  void count_other(CanaryRequest::Outcome outcome);

  struct Counts {
    std::uint64_t requests = 0;  // answered, failed, or given up when slow, since the canary was made
    std::uint64_t failed = 0;
    std::uint64_t slow = 0;  // slower than max_latency
    std::uint64_t rejected = 0;
    std::optional<std::string> withdrawn{};  // the reason; nullopt: not withdrawn
  };
  Counts counts() const;

 private:
  const std::uint64_t hash_salt_;
  const std::shared_ptr<CanaryRequest::State> state_;
  ExactShare share_;
};

}  // namespace headrace

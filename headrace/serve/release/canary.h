#pragma once

/// \file Gives a version of a model some of the requests, and withdraws it when it fails or is slow.
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
  /// Hundredths of a percent, from 0 to kFullShare, of the requests that name no version.
  std::uint64_t weight = 0;
  /// Header whose value decides, or metadata of gRPC; empty: each request is drawn alone.
  std::string sticky_header{};
  /// None: no bound. A rate is from 0 to 1.
  std::optional<double> max_error_rate{};
  /// Bound of the 99th percentile.
  std::optional<std::chrono::milliseconds> max_latency{};
  /// Bounds hold for the requests of this time, once they are so many.
  std::chrono::milliseconds window{60'000};
  std::uint64_t min_requests = 20;
  bool operator==(const CanaryOptions&) const = default;
};

class Canary;

/// A request that goes to the canary. Movable; one thread at a time. It may outlive the canary. Without
/// `finish` it does not count.
class CanaryRequest {
 public:
  enum class Outcome : std::uint8_t {
    kAnswered,
    kFailed,      // the version's fault
    kGivenUp,     // the client did not wait longer: it counts only if it was slow already
    kRejected,    // the version did not like the values: its fault, or the client's
    kNotCounted,  // the client's fault, or the server's
  };
  CanaryRequest() = default;
  CanaryRequest(CanaryRequest&&) noexcept = default;
  CanaryRequest& operator=(CanaryRequest&& other) noexcept;
  ~CanaryRequest() { finish(Outcome::kNotCounted); }
  /// Only the first call counts.
  void finish(Outcome outcome);
  /// Time since `begin`; 0 if it does not count any more.
  std::chrono::nanoseconds age() const;

 private:
  friend class Canary;
  using Start = std::multiset<std::chrono::steady_clock::time_point>::iterator;
  struct State;
  CanaryRequest(std::shared_ptr<State> state, std::uint64_t generation, Start start)
      : state_(std::move(state)), generation_(generation), start_(start) {}

  std::shared_ptr<State> state_;  // null: it does not count any more
  std::uint64_t generation_ = 0;
  Start start_{};
};

/// Thread-safe.
class Canary {
 public:
  /// `model`: its name. `remark` is told of a withdrawal, from any thread.
  Canary(std::string model, CanaryOptions options, std::function<void(const std::string&)> remark,
         std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now);

  const CanaryOptions& options() const;

  /// Whether a request that names no version should go to the canary. `client`: the value of the sticky
  /// header. At most ⌊n·weight⌋ of the first n requests without one should; a value is always on one side, on
  /// all servers. Nothing should, once it is withdrawn.
  bool draws(std::optional<std::string_view> client);

  /// A request goes to `version`, which the name of the canary's version stands for now. If it is another one
  /// than before, the window begins anew.
  CanaryRequest begin(std::uint64_t version);

  /// A request that could have gone to the canary has ended elsewhere.
  void count_other(CanaryRequest::Outcome outcome);

  struct Counts {
    std::uint64_t requests = 0;  // that were answered, failed, or given up slow, since it was made
    std::uint64_t failed = 0;
    std::uint64_t slow = 0;  // slower than max_latency
    std::uint64_t rejected = 0;
    std::optional<std::string> withdrawn{};  // why
  };
  Counts counts() const;

 private:
  const std::uint64_t hash_salt_;
  const std::shared_ptr<CanaryRequest::State> state_;
  ExactShare share_;
};

}  // namespace headrace

#pragma once

/// \file Sends requests that one version has answered to another version too, and compares the answers.
/// docs/decisions/serving.md, "Releases".

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "headrace/serve/live_model/live_model.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/release/exact_share.h"
#include "headrace/serve/release/output_difference.h"

namespace headrace {

struct ShadowOptions {
  VersionName version;
  /// Share of the requests that other versions answer, in hundredths of a percent: from 0 to kFullShare.
  std::uint64_t fraction = 0;
  /// Numbers that differ by at most this count as equal.
  double tolerance = 0;
  bool operator==(const ShadowOptions&) const = default;
};

/// Binds a request to a signature. It owns whatever it needs.
using BindRequest = std::function<Result<std::unique_ptr<BoundRequest>>(const ServedSignature&)>;

/// A request that was answered.
struct AnsweredRequest {
  BindRequest bind;
  std::shared_ptr<ServedVersion> version;  // the version that has answered
  const ServedSignature* signature;        // of that version
  BatchAnswers answers;
  std::uint64_t kept_bytes = 0;  // memory that `bind` holds: the body, and its parsed form
};

/// Copies requests to a shadow version, in a thread of its own. Thread-safe.
class Shadow {
 public:
  /// Bounds on the copies that wait or are being answered. Further copies are dropped. The bounds are low
  /// because each copy keeps the memory of a batch.
  static constexpr std::uint64_t kMostRequests = 16;
  static constexpr std::uint64_t kMostBytes = 64 << 20;
  /// The model must outlive it.
  Shadow(const LiveModel& model, ShadowOptions options);
  /// Drops the copies that wait. Does not wait for answers.
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  const ShadowOptions& options() const { return options_; }

  /// Whether to copy a request that `answering` answers. About `fraction` of the requests to other versions
  /// are copied, independently of the canary's choice.
  bool draws(const ServedVersion& answering);

  /// Queues a copy of the request, or drops it if a bound is reached. Never blocks.
  void ask(AnsweredRequest request);

  struct Counts {
    std::uint64_t requests = 0;  // compared
    std::uint64_t dropped = 0;   // a bound was reached, or the version was busy or not ready
    std::uint64_t failed = 0;    // the version or the comparison failed
    OutputDifference difference{};
    std::optional<std::string> last_error{};
  };
  Counts counts() const;

 private:
  struct State;
  struct Copy;
  void work(const std::stop_token& stop);
  void run(std::shared_ptr<Copy> copy) const;

  const LiveModel& model_;
  const ShadowOptions options_;
  std::atomic<std::uint64_t> draws_ = 0;
  const std::shared_ptr<State> state_;  // outlives the Shadow while the version still answers
  std::jthread thread_;
};

}  // namespace headrace

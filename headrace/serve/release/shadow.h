#pragma once

/// \file Asks a version of a model what another one has answered, and compares the two.
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
  /// Hundredths of a percent, from 0 to kFullShare, of the requests that another version answers.
  std::uint64_t fraction = 0;
  /// Numbers that differ by no more are the same.
  double tolerance = 0;
  bool operator==(const ShadowOptions&) const = default;
};

/// Makes a request fit a signature. It keeps alive what it needs.
using BindRequest = std::function<Result<std::unique_ptr<BoundRequest>>(const ServedSignature&)>;

/// A request that was answered.
struct AnsweredRequest {
  BindRequest bind;
  std::shared_ptr<ServedVersion> version;  // that has answered
  const ServedSignature* signature;        // of that version
  BatchAnswers answers;
  std::uint64_t kept_bytes = 0;  // that `bind` keeps: the body, and its parsed form
};

/// Thread-safe. Has a thread of its own.
class Shadow {
 public:
  /// Bounds of what waits or is being answered: more is dropped. Few, since each keeps memory of a batch.
  static constexpr std::uint64_t kMostRequests = 16;
  static constexpr std::uint64_t kMostBytes = 64 << 20;
  /// Borrows the model.
  Shadow(const LiveModel& model, ShadowOptions options);
  /// Waits for no answer: what the version still answers is not compared.
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  const ShadowOptions& options() const { return options_; }

  /// Whether a request that this version answers is to be copied: about `fraction` of those of other versions
  /// are, whichever the canary draws.
  bool draws(const ServedVersion& answering);

  /// Takes a copy of it. Never waits.
  void ask(AnsweredRequest request);

  struct Counts {
    std::uint64_t requests = 0;  // that were compared
    std::uint64_t dropped = 0;   // the bounds were passed, or the version was not ready
    std::uint64_t failed = 0;    // the version, or the comparison
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
  const std::shared_ptr<State> state_;  // outlives this while the version answers
  std::jthread thread_;
};

}  // namespace headrace

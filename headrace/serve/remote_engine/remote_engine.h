#pragma once

/// \file A model that is loaded in an engine process of its own, and runs batches there.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/remote_engine/messages.h"

namespace headrace {

/// How an engine process is started: it has its end of the packets as standard input.
struct EngineCommand {
  std::vector<std::string> arguments;  // the first is the program's path
  std::map<std::string, std::string, std::less<>> environment;
};

struct RemoteEngineOptions {
  std::chrono::milliseconds load_deadline{600'000};
  /// A batch that takes longer ends the process: nothing else ends a call of TensorFlow for sure.
  std::chrono::milliseconds batch_deadline{120'000};
  /// Bytes of batches that exist at the same time.
  std::uint64_t memory_bytes_max = std::uint64_t{4} << 30;
  /// Bytes that are kept for the next batches.
  std::uint64_t idle_memory_bytes_max = 256 << 20;
};

/// Thread-safe.
class RemoteEngine {
 public:
  /// Starts the process and waits until it has loaded the model. `on_end` is called at most once, from a
  /// thread of this, when the process ends before this does; it must not destroy this.
  /// \error those of the process: why it could not load the model
  /// \error kUnavailable       the process ended: says how
  /// \error kDeadlineExceeded  it took longer than load_deadline
  /// \error kCancelled         stopped
  static Result<std::unique_ptr<RemoteEngine>> start(const EngineCommand& command, const EngineLoad& load,
                                                     const RemoteEngineOptions& options,
                                                     std::function<void(const Error&)> on_end,
                                                     const std::stop_token& stop);
  /// As `end`. REQUIRES: no batch is running
  ~RemoteEngine();
  RemoteEngine(const RemoteEngine&) = delete;
  RemoteEngine& operator=(const RemoteEngine&) = delete;

  /// Ends the process. Batches that it has, and those that come from now on, are answered with kUnavailable
  /// by a thread of this.
  void end();

  /// Whether batches that come now are answered so. True before the first of them is.
  bool has_ended() const;

  const EngineLoaded& about() const;
  int process_id() const;
  /// Runs batches of about().model.signatures[signature]; lives as long as this. If the process ends, batches
  /// are answered as `end` says. An answer that does not fit the signature ends the process, too.
  /// Outputs of a signature that is not batched get a first dimension of 1: the only row.
  BatchRunner& runner(std::size_t signature);

 private:
  class Core;
  explicit RemoteEngine(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace headrace

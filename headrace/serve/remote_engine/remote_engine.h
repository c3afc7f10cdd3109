#pragma once

/// \file A model that is loaded in its own engine process, which runs its batches.

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

/// How to start an engine process. Its end of the packet socket is its standard input.
struct EngineCommand {
  std::vector<std::string> arguments;  // the first is the program's path
  std::map<std::string, std::string, std::less<>> environment;
};

struct RemoteEngineOptions {
  std::chrono::milliseconds load_deadline{600'000};
  /// If a batch takes longer, the process is ended: nothing else reliably ends a call of TensorFlow.
  std::chrono::milliseconds batch_deadline{120'000};
  /// Shared memory of all batches together.
  std::uint64_t memory_bytes_max = std::uint64_t{4} << 30;
  /// Part of it that is kept for later batches when idle.
  std::uint64_t idle_memory_bytes_max = 256 << 20;
};

/// An engine process with a loaded model. Thread-safe.
class RemoteEngine {
 public:
  /// Starts the process and waits until it has loaded the model. `on_end` is called at most once, from a
  /// thread of this object, when the process has ended by itself. It must not destroy this object.
  /// \error any                as the process reports it: why it could not load the model
  /// \error kUnavailable       the process ended; the message says how
  /// \error kDeadlineExceeded  the load took longer than load_deadline
  /// \error kCancelled         `stop` was requested
  static Result<std::unique_ptr<RemoteEngine>> start(const EngineCommand& command, const EngineLoad& load,
                                                     const RemoteEngineOptions& options,
                                                     std::function<void()> on_end,
                                                     const std::stop_token& stop);
  /// As `end`. REQUIRES: no batch is running
  ~RemoteEngine();
  RemoteEngine(const RemoteEngine&) = delete;
  RemoteEngine& operator=(const RemoteEngine&) = delete;

  /// Ends the process. Batches that it is running, and all later ones, are answered with kUnavailable by a
  /// thread of this object.
  void end();

  /// Why new batches are answered with kUnavailable; nullopt: they are run. Set before the first batch is
  /// answered so.
  std::optional<Error> ended() const;

  const EngineLoaded& about() const;
  int process_id() const;
  /// Runs batches of about().model.signatures[signature]. It lives as long as this object. If the process
  /// ends, batches are answered as `end` says. An answer that does not fit the signature also ends the
  /// process. If the signature is not batched, its outputs get a first dimension of 1: the only row.
  BatchRunner& runner(std::size_t signature);

 private:
  class Core;
  explicit RemoteEngine(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace headrace

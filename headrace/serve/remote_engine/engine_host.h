#pragma once

/// \file The engine process's side of the messages: hosts one model and runs the batches that it is sent.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/serve/remote_engine/messages.h"

namespace headrace {

struct HostedOutputs {
  /// In the order of the signature. If the signature is batched, each has the rows of the batch.
  std::vector<Tensor> tensors{};
  /// The rows that have no answer, each with the reason.
  std::map<std::uint64_t, std::string> failed_rows{};
};

/// Runs signatures. Used by one thread.
class HostedLane {
 public:
  virtual ~HostedLane() = default;
  /// `signature` is its index. `inputs` are in the order of the signature, and borrowed until this returns.
  virtual Result<HostedOutputs> run(std::size_t signature, std::span<const TensorView> inputs) = 0;
};

/// A loaded model. Thread-safe.
class HostedModel {
 public:
  virtual ~HostedModel() = default;
  virtual const EngineLoaded& about() const = 0;
  virtual Result<std::unique_ptr<HostedLane>> open_lane() = 0;
};

using LoadHosted = std::function<Result<std::unique_ptr<HostedModel>>(const EngineLoad& load)>;

/// Loads the model that the first message names, then runs batches, up to `load.lanes` at a time, until the
/// other side closes the socket. Then, and also after an error, calls `on_gone`, which should end the
/// process: otherwise a batch that hangs would delay the return.
/// \error kDataLoss  the other side sent something that is not a message
/// \error of `load_hosted`, after it was reported to the other side
Status host_engine(PacketSocket socket, const LoadHosted& load_hosted, const std::function<void()>& on_gone);

}  // namespace headrace

#pragma once

/// \file The engine process's side of the messages: hosts one model, and runs the batches that come.

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
  /// In the order of the signature. Where it is batched, each has the batch's rows.
  std::vector<Tensor> tensors{};
  /// Rows that have no answer, and why.
  std::map<std::uint64_t, std::string> failed_rows{};
};

/// Runs signatures in one thread.
class HostedLane {
 public:
  virtual ~HostedLane() = default;
  /// `inputs` in the order of the signature; borrowed until this returns.
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

/// Loads what the first message names, and runs batches, `load.lanes` at a time, until the other side has
/// gone. Then calls `on_gone`, which should end the process: a batch that hangs would hold up the return.
/// \error kDataLoss  the other side sent what is no message
/// \error of `load_hosted`, which the other side has been told
Status host_engine(PacketSocket socket, const LoadHosted& load_hosted, const std::function<void()>& on_gone);

}  // namespace headrace

#pragma once

/// \file Loads a saved model, lists its signatures, runs them, saves and restores its state.
///
///   HEADRACE_TRY(auto model, engine.load("/models/imdb", {.intra_op_threads = 1}));
///   HEADRACE_TRY(auto step, model->prepare("train_step", {"features", "labels", "weights"}, {"loss"}));
///   Tensor loss;
///   HEADRACE_CHECK(step->run(std::array{features, labels, weights}, {&loss, 1}));
///
/// Engines work on local folders only; store/staging.h copies models from a store and back.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"

namespace headrace {

/// One input or output of a signature.
struct TensorInfo {
  DataType type = DataType::kFloat32;
  /// None if the model leaves even the rank open.
  std::optional<Shape> shape{};
};

/// A function of a model, by name. Its inputs and outputs have names, and no order.
struct Signature {
  std::map<std::string, TensorInfo, std::less<>> inputs;
  std::map<std::string, TensorInfo, std::less<>> outputs;
  /// The purpose that the model names: "tensorflow/serving/predict". Empty: none.
  std::string method_name{};
};

/// A signature whose names are resolved, which a loop runs once a step. Not thread-safe, but several calls of
/// one model may run at the same time, as far as the model's own state allows. May outlive its model.
class Call {
 public:
  virtual ~Call() = default;
  /// Runs once. Inputs and outputs are in the order given to `prepare`. Inputs aligned to kTensorAlignment
  /// are read in place, not copied; they are borrowed until this returns. Blocks for at most the call
  /// deadline.
  /// \error kInvalidArgument   a type or shape that the signature does not take; the message names the input
  /// \error kDeadlineExceeded  the engine was stopped; the model's state is then undefined: restore it
  virtual Status run(std::span<const TensorView> inputs, std::span<Tensor> outputs) = 0;
};

/// A loaded model: signatures, and variables that some of them change. Thread-safe except for its state: the
/// caller orders `run`s that change it, `save_state` and `restore_state`.
class Model {
 public:
  virtual ~Model() = default;
  /// The folder it was loaded from.
  virtual const std::string& folder() const = 0;
  virtual const std::map<std::string, Signature, std::less<>>& signatures() const = 0;
  /// Every input of the signature must be named; outputs that are not needed may be left out.
  /// \error kNotFound  no such signature, input or output; the message lists those that exist
  virtual Result<std::unique_ptr<Call>> prepare(std::string_view signature, std::vector<std::string> inputs,
                                                std::vector<std::string> outputs) = 0;
  /// Writes every variable as a checkpoint: <prefix>.index, <prefix>.data-?????-of-?????. Makes the parent
  /// folder.
  virtual Status save_state(const std::string& prefix) = 0;
  /// \error kNotFound, kDataLoss  no checkpoint of this model there; the state is then undefined
  virtual Status restore_state(const std::string& prefix) = 0;
};

struct ModelOptions {
  /// The model's name in messages. Empty: its folder.
  std::string name{};
  /// Threads of this model alone. Results depend on them as little as the engine's kernels do; record them if
  /// a result must be repeatable to the last bit.
  int intra_op_threads = 1;
  int inter_op_threads = 1;
  /// Time limit for one `run`, `save_state` or `restore_state`.
  std::chrono::milliseconds call_deadline{600'000};
};

/// Thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;
  /// "tensorflow 2.21.0".
  virtual std::string version() const = 0;
  /// \error kNotFound         no model in the folder
  /// \error kInvalidArgument  not one that this engine can load
  virtual Result<std::unique_ptr<Model>> load(const std::string& folder, const ModelOptions& options) = 0;
};

/// The current values of the model's variables, by name: the outputs of its signature "variables", which
/// every model that Headrace traces has.
/// \error kNotFound  another model
Result<std::map<std::string, Tensor>> read_variables(Model& model);

}  // namespace headrace

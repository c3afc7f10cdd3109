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
  /// −1 for an open size; none if even the rank is open.
  std::optional<Shape> shape{};
};

/// A named function of a model. Its inputs and outputs have names but no order.
struct Signature {
  std::map<std::string, TensorInfo, std::less<>> inputs;
  std::map<std::string, TensorInfo, std::less<>> outputs;
  /// The purpose that the model states: "tensorflow/serving/predict". Empty: none.
  std::string method_name{};
};

/// A signature with resolved names, which a loop runs once per step. Not thread-safe, but several calls of
/// one model may run at the same time, as far as the model's own state allows. May outlive its model.
class Call {
 public:
  virtual ~Call() = default;
  /// Runs the signature once. Inputs and outputs are in the order given to `prepare`. Inputs aligned to
  /// kTensorAlignment are read in place, not copied; they are borrowed until this returns. Blocks for at most
  /// the call deadline.
  /// \error kInvalidArgument   the signature does not take the type or shape of an input (the message names
  ///                           it), or the number of inputs or outputs differs from `prepare`
  /// \error kDeadlineExceeded  the engine was stopped. The model's state is then undefined: restore it
  /// \error *                  the engine's own errors
  virtual Status run(std::span<const TensorView> inputs, std::span<Tensor> outputs) = 0;
};

/// A loaded model: signatures, and variables that some signatures change. Thread-safe except for its
/// variables: the caller must not overlap `save_state`, `restore_state` and `run`s that change them.
class Model {
 public:
  virtual ~Model() = default;
  /// The folder that the model was loaded from.
  virtual const std::string& folder() const = 0;
  virtual const std::map<std::string, Signature, std::less<>>& signatures() const = 0;
  /// Resolves the names of a signature. `inputs` must name all of its inputs; `outputs` may leave some out.
  /// \error kNotFound  no such signature, input or output (the message lists those that exist), or an input
  ///                   is not named
  virtual Result<std::unique_ptr<Call>> prepare(std::string_view signature, std::vector<std::string> inputs,
                                                std::vector<std::string> outputs) = 0;
  /// Writes every variable to a checkpoint: <prefix>.index, <prefix>.data-?????-of-?????. Makes the parent
  /// folder.
  /// \error kFailedPrecondition  the model has no variables
  virtual Status save_state(const std::string& prefix) = 0;
  /// Reads every variable from a checkpoint.
  /// \error kNotFound, kDataLoss  there is no checkpoint of this model; the state is then undefined
  /// \error kFailedPrecondition   the model has no variables
  virtual Status restore_state(const std::string& prefix) = 0;
};

struct ModelOptions {
  /// The model's name in messages. Empty: its folder.
  std::string name{};
  /// The numbers of threads for this model alone. The engine's kernels may give results that depend on them
  /// in the last bits: record them if a result must be exactly repeatable.
  int intra_op_threads = 1;
  int inter_op_threads = 1;
  /// Time limit for one `run`, `save_state` or `restore_state`.
  std::chrono::milliseconds call_deadline{600'000};
};

/// Loads models. Thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;
  /// The engine's name and version: "tensorflow 2.21.0".
  virtual std::string version() const = 0;
  /// \error kNotFound         the folder has no model
  /// \error kInvalidArgument  this engine cannot load the model
  virtual Result<std::unique_ptr<Model>> load(const std::string& folder, const ModelOptions& options) = 0;
};

/// The current values of the model's variables, by name. They are the outputs of the signature "variables",
/// which every model that Headrace traces has.
/// \error kNotFound  the model has no such signature
Result<std::map<std::string, Tensor>> read_variables(Model& model);

}  // namespace headrace

#pragma once

/// \file Turns a Python function that returns a compiled Keras model into a SavedModel that trains without
/// Python, and its description (docs/formats/traced-model.md). Python runs once per model, not per step:
/// traces are cached under the digest of everything they depend on.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/base/json.h"
#include "headrace/base/result.h"
#include "headrace/engine/model_binding.h"
#include "headrace/engine/tensor.h"
#include "headrace/store/staging.h"

namespace headrace {

/// The model to trace, and the data that it is to be bound to (python/headrace/_src/binding.py says how). The
/// function is called with those of `features`, `classes` and `seed` that it declares, and with all of
/// `arguments`.
struct TraceRequest {
  /// "package.module:function", or "folder/file.py:function".
  std::string model;
  std::vector<ModelFeature> features;
  std::vector<ModelFeature> labels;
  std::map<std::string, std::string> inputs{};      // input → feature, where the user says so
  std::map<std::string, std::string> outputs{};     // output → label, likewise
  std::optional<ModelFeature> weights{};            // weighs records: one number
  std::map<std::uint64_t, double> class_weights{};  // number of a class → its weight in training; others: 1
  /// Initial weights and dropout masks are a function of its low 32 bits.
  std::uint64_t seed = 0;
  /// Keyword arguments as JSON values: {"units", "128"}.
  std::map<std::string, std::string> arguments{};
};

struct TraceOptions {
  std::string interpreter;     // as `find_interpreter` gives it
  std::string package_folder;  // the one that holds the package `headrace`; see os/python_program.h
  std::string cache_folder;    // made if it is not there
  /// The engine's version, such as "2.21.0"; the interpreter must have the same. Empty: any.
  std::string tensorflow_version{};
  std::chrono::milliseconds deadline{300'000};
  std::stop_token stop{};
};

struct TracedVariable {
  std::string name;  // also its name among the outputs of the signature "variables"
  std::string role;  // "trainable", "non_trainable", "seed" or "optimizer"
  std::string type;
  Shape shape;
  std::string checkpoint_key;
};

struct TracedLayer {
  std::string name;
  std::string type;
  std::optional<Shape> output{};
  std::uint64_t parameters = 0;
};

/// model.json, and where the rest of a trace lies. The SavedModel's signatures:
///   train_step     inputs, targets, weights, states → loss, metrics, states; changes the variables
///   eval_step      the same → loss, metrics, states, outputs
///   reset_metrics  → states; only where the model has metrics that are no means over examples
///   metric_results  states → each such metric by its name
///   predict        inputs → outputs (also as serving_default)
///   gradients      as train_step, and gradient_0 … in the order of `gradients`; changes no weight
///   apply_gradients  gradient_0 … → iteration
///   variables      → each variable by its name
///   set_learning_rate  learning_rate → learning_rate; only where `learning_rate` is not empty
/// Rows of weight 0 are left out. `loss` is the mean over the rest, `metrics` the sums named by
/// `metric_names`.
struct TracedModel {
  std::string folder;  // of the three below
  /// Holds that folder if the cache does not keep it.
  std::shared_ptr<const StagedFolder> staged{};
  std::string saved_model_folder;
  std::string graph_file;        // a GraphDef, for people to look at
  std::string description_file;  // model.json
  std::string digest;            // of all that the trace depends on; empty where it was not cached by one

  std::string model;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> versions;  // tensorflow, keras, python
  ModelBinding binding;
  std::vector<std::string> metric_names;          // the first is "examples", the number of rows
  std::vector<std::string> ignored_metrics;       // compiled, but cannot be computed in a graph
  std::vector<std::string> gradients;             // names of variables
  std::map<std::uint64_t, double> class_weights;  // that were asked for: TraceRequest
  std::string learning_rate;                      // name of its variable; empty where a schedule computes it
  std::string optimizer;
  std::string loss;
  std::vector<TracedVariable> variables;
  std::vector<TracedLayer> layers;
  std::uint64_t parameters = 0;
};

/// Traces the model, or finds the trace in the cache (0.1 s instead of 4 to 15 s). A model whose source may
/// read files, such as pretrained weights, is traced each time, because those may have changed. The
/// interpreter runs in this process's working folder, whose modules it finds; `environment` is passed on to
/// it. Several processes may call it at once: an entry of the cache appears whole, and the first one stays.
/// \error kInvalidArgument     the model is at fault: does not import, is not compiled, does not fit the
///                             data, …
/// \error kFailedPrecondition  the interpreter is at fault: no TensorFlow, or another version
/// \error kDeadlineExceeded, kCancelled
Result<TracedModel> trace_model(const TraceRequest& request, const TraceOptions& options,
                                const Environment& environment);

/// How the tracer is told of the data (docs/formats/traced-model.md, `spec`).
/// \error kInvalidArgument  an argument is not a JSON value
Result<Json> trace_spec(const TraceRequest& request);

/// Reads a trace's description.
/// \error kNotFound, kDataLoss
Result<TracedModel> read_traced_model(const std::string& folder);

}  // namespace headrace

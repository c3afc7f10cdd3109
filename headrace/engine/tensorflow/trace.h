#pragma once

/// \file Traces a Python function that returns a compiled Keras model. The result is a SavedModel that trains
/// without Python, and its description (docs/formats/traced-model.md). Python runs once per model, not per
/// step: traces are cached under the digest of everything on which they depend.

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

/// The model to trace, and the data to bind it to (python/headrace/_src/binding.py does that). The function
/// is called with all of `arguments`, and with whichever of the parameters `features`, `classes` and `seed`
/// it declares.
struct TraceRequest {
  /// "package.module:function", or "folder/file.py:function".
  std::string model;
  std::vector<ModelFeature> features;
  std::vector<ModelFeature> labels;
  std::map<std::string, std::string> inputs{};      // input → feature, as far as the user chooses them
  std::map<std::string, std::string> outputs{};     // output → label, as far as the user chooses them
  std::optional<ModelFeature> weights{};            // the feature with each record's weight: one number
  std::map<std::uint64_t, double> class_weights{};  // number of a class → weight in training; default: 1
  /// Initial weights and dropout masks depend on its low 32 bits.
  std::uint64_t seed = 0;
  /// Keyword arguments as JSON values: {"units", "128"}.
  std::map<std::string, std::string> arguments{};
};

struct TraceOptions {
  std::string interpreter;     // the result of `find_interpreter`
  std::string package_folder;  // the folder that holds the package `headrace`; see os/python_program.h
  std::string cache_folder;    // made if it does not exist
  /// The engine's version, such as "2.21.0"; the interpreter must have the same version. Empty: any.
  std::string tensorflow_version{};
  std::chrono::milliseconds deadline{300'000};
  std::stop_token stop{};
};

struct TracedVariable {
  std::string name;  // also the name of an output of the signature "variables"
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

/// The content of model.json, and the paths of the rest of a trace. The SavedModel's signatures:
///   train_step         inputs, targets, weights, states → loss, metrics, states; changes the variables
///   eval_step          the same inputs → loss, metrics, states, outputs
///   reset_metrics      → states; only if the model has metrics that are not means over examples
///   metric_results     states → each such metric by its name
///   predict            inputs → outputs (also as serving_default)
///   gradients          like train_step, then gradient_0 … in the order of `gradients`; changes no weight
///   apply_gradients    gradient_0 … → iteration
///   variables          → each variable by its name
///   set_learning_rate  learning_rate → learning_rate; only if `learning_rate` is not empty
/// Rows with weight 0 are left out. `loss` is the mean over the other rows; `metrics` are the sums named by
/// `metric_names`.
struct TracedModel {
  std::string folder;  // holds the folder and the files below
  /// Owns `folder` if `trace_model` did not keep it in the cache. The folder is deleted with the last copy.
  std::shared_ptr<const StagedFolder> staged{};
  std::string saved_model_folder;
  std::string graph_file;        // a GraphDef, for people to look at
  std::string description_file;  // model.json
  std::string digest;            // of everything on which the trace depends; empty if it is not cached

  std::string model;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> versions;  // tensorflow, keras, python
  ModelBinding binding;
  std::vector<std::string> metric_names;          // the first is "examples", the number of rows
  std::vector<std::string> ignored_metrics;       // compiled, but cannot be computed in a graph
  std::vector<std::string> gradients;             // names of variables
  std::map<std::uint64_t, double> class_weights;  // as in TraceRequest
  std::string learning_rate;                      // name of its variable; empty if a schedule computes it
  std::string optimizer;
  std::string loss;
  std::vector<TracedVariable> variables;
  std::vector<TracedLayer> layers;
  std::uint64_t parameters = 0;
};

/// Traces the model, or finds the trace in the cache (0.1 s instead of 4 to 15 s). A model whose source may
/// read files, such as pretrained weights, is traced each time, because those files may have changed. The
/// interpreter runs in this process's working folder and finds modules there; it gets the variables of
/// `environment`. Blocks until the interpreter ends. Several threads and processes may call it at the same
/// time: an entry of the cache appears whole, and the first one stays.
/// \error kInvalidArgument     the model is at fault: it does not import, is not compiled, does not fit the
///                             data, …; or an argument is not a JSON value
/// \error kFailedPrecondition  the interpreter is at fault: it has no TensorFlow, or another version
/// \error kPermissionDenied    the cache cannot be written
/// \error kDeadlineExceeded    a run of the interpreter takes longer than the deadline
/// \error kCancelled           a stop was requested
Result<TracedModel> trace_model(const TraceRequest& request, const TraceOptions& options,
                                const Environment& environment);

/// The description of the data for the tracer (docs/formats/traced-model.md, `spec`).
/// \error kInvalidArgument  an argument is not a JSON value
Result<Json> trace_spec(const TraceRequest& request);

/// Reads the description of the trace in `folder`.
/// \error kNotFound       there is no trace
/// \error kDataLoss       the description is damaged
/// \error kUnimplemented  another version of Headrace wrote it, in a format that this one does not read
Result<TracedModel> read_traced_model(const std::string& folder);

}  // namespace headrace

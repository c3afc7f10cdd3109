#pragma once

/// \file The train stage: takes a published dataset and a model, and writes checkpoints, events and a
/// SavedModel. Layout of the output: docs/formats/run-layout.md.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/coordinate/actor.h"
#include "headrace/coordinate/configuration.h"
#include "headrace/engine/engine.h"
#include "headrace/engine/tensorflow/trace.h"
#include "headrace/store/location.h"
#include "headrace/stream/data_order.h"
#include "headrace/stream/loader.h"
#include "headrace/stream/loader_state.h"
#include "headrace/stream/strata.h"

namespace headrace {

/// The loop that runs the training steps.
enum class TrainLoop : std::uint8_t {
  kNative,  // the traced model, without Python
  kKeras,   // the `fit` of Keras, in a Python process
};

struct TrainOptions {
  TrainLoop loop = TrainLoop::kNative;
  std::string model = "headrace.models:dense_classifier";
  /// The function that returns a list of Keras callbacks: "package.module:function" or
  /// "folder/file.py:function"; empty: none. Only with kKeras.
  std::string callbacks{};
  /// Version of the dataset: the number of its manifest. nullopt: see choose_data_version.
  std::optional<std::uint64_t> data_version{};
  std::string split = "train";
  /// Features for the model's inputs, and labels for its outputs, in the form of `parse_assignments`. Empty:
  /// all features that can be inputs; the label "label", else the only feature with a vocabulary.
  std::string features{};
  std::string labels{};
  /// The feature with the weight of each record in the training and validation losses: one number. Empty:
  /// none.
  std::string weights{};
  /// Weights of classes in the training loss, in the form of parse_class_weights, or "balanced". Empty: none.
  std::string class_weights{};
  /// Random augmentations of images in training, in the form of `parse_augmentations`. Empty: none.
  std::string augment{};
  /// The size to which images are resized before augmentation. It also decides the size of the model's input
  /// if the model leaves that open. nullopt: the size that the model takes. Required with a crop.
  std::optional<ImageSize> image_size{};
  /// `balance`: a label, each of whose classes is trained on equally often. `bucket`: a ragged feature, of
  /// which the records of a batch have similar numbers of values (LoaderOptions::arrangement). Empty: none.
  /// Give at most one of them. Validation is never rearranged.
  std::string balance{};
  std::string bucket{};
  std::uint64_t epochs = 10;
  std::uint64_t batch_size = 128;
  /// Share of the records held out for validation, in [0, 1).
  double validation = 0.1;
  /// Train only on these records of the training part; nullopt: on all. The validation part does not change.
  /// Only with kNative.
  std::optional<RecordRange> subset{};
  /// As `subset`, for records that are not consecutive, by their numbers in the training part; null: all. Not
  /// together with `subset`. The configuration contains only the selection's name.
  std::shared_ptr<const RecordSelection> selection{};
  std::uint64_t seed = 44;
  /// nullopt: the one with which the model was compiled.
  std::optional<double> learning_rate{};
  /// Stop after this many steps in total; 0: no limit.
  std::uint64_t steps = 0;
  /// Stop when the validation loss has not improved for this many epochs, and export the best; 0: never.
  std::uint64_t early_stop = 0;
  /// The run whose latest checkpoint gives the initial variables.
  std::optional<Location> init_from{};
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  std::uint64_t log_every = 0;  // steps between events within an epoch; 0: none
  /// Score some batches of the first epoch before training on them, and log the scores (one_pass.h). Only
  /// with kNative.
  bool curve = false;
  /// Memory of the loaders. Validation, if any, gets a quarter of it, or half if the model may take images.
  std::uint64_t memory_budget_bytes = 256 << 20;
  int loader_threads = 1;
  /// The cache through which DATA is read, in the form of parse_cache_url; empty: none. The caller must have
  /// opened DATA with it; the process of Keras opens DATA itself.
  std::string cache_url{};
  /// Threads of one TensorFlow operation. nullopt: the number with which the run was begun; for a new run the
  /// number of cores if the model may take images, else 1.
  std::optional<int> intra_op_threads{};
  bool overwrite = false;
};

/// Everything that the stage needs besides data. Borrowed.
struct TrainEnvironment {
  Engine& engine;
  const TraceOptions& trace;
  const Environment& environment;
  std::string temporary_folder;  // for files that TensorFlow reads and writes
  /// Called with each line that the model's own Python code prints during training.
  std::function<void(std::string_view)> on_print = [](std::string_view) {};
  /// Called before the first step, when the model is made and fits the data, with the binding of the two.
  std::function<void(const ModelBinding&)> on_binding = [](const ModelBinding&) {};
  /// Whether RUN is removed after `train` returns. Messages then do not say how to continue it.
  bool is_run_temporary = false;
  /// Traces a model for the native loop; empty: trace_model with `trace`. Tests without Python pass their
  /// own.
  std::function<Result<TracedModel>(const TraceRequest&)> tracer{};
};

/// The metrics of one completed epoch, by name: "loss", "accuracy", "val_loss" …
struct EpochMetrics {
  std::uint64_t epoch = 0;  // from 1
  std::uint64_t step = 0;   // number of completed steps in all epochs
  std::map<std::string, double> values;
};

struct TrainProgress {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t total_steps = 0;
};
using OnStep = std::function<void(const TrainProgress&)>;
using OnEpoch = std::function<void(const EpochMetrics&)>;

struct TrainResult {
  std::vector<EpochMetrics> history;
  TracedModel model;
  std::uint64_t train_records = 0;
  std::uint64_t validation_records = 0;
  std::uint64_t steps = 0;           // of the whole run
  std::uint64_t steps_done_now = 0;  // by this process
  double training_seconds = 0;       // of the steps by this process, including input
  LoaderStats loader;
  /// Corrupt records left out of one epoch, including the validation part; if epochs differ, the largest
  /// number.
  std::uint64_t corrupt_records = 0;
  std::vector<std::string> remarks;  // without duplicates
  std::uint64_t exported_epoch = 0;
  std::string export_digest;  // SHA-256 (hex) of the export's manifest
  bool stopped_early = false;
  bool was_finished = false;  // an earlier process had finished the run: nothing was trained
};

/// The version of the data that a run reads.
struct DataVersion {
  std::uint64_t number = 0;
  std::string remark{};  // for people, if this is not the latest version; else empty
};

/// Chooses the version of the data for a run: the one in `options`; else the one on which the run was begun,
/// if that still exists and the run is not overwritten; else the latest.
/// \error kInvalidArgument  no dataset is published at `data`
Result<DataVersion> choose_data_version(const Location& data, const Location& run,
                                        const TrainOptions& options);

/// Everything that decides the weights of a run and is known without training.
struct TrainPlan {
  Configuration configuration;  // as stored with the run
  TracedModel model;
  std::uint64_t part_records = 0;  // in the whole training part, also with a subset
  int intra_op_threads = 1;
  std::string label;  // the label that the model is trained on, the first one if several; empty: none
};

/// Opens the data and traces the model for a new run of native training. Writes only to the cache of traces.
/// Thread-safe if the environment's tracer is. Uses only the name of a selection, unless class_weights is
/// "balanced": then the labels of the training records are read.
/// REQUIRES: options.data_version is set
/// \error as `train`, for data, model and options that do not fit each other
Result<TrainPlan> plan_training(const Location& data, const TrainOptions& options,
                                const TrainEnvironment& environment, const std::stop_token& stop);

/// The classes that occur in the split, as far as its manifest says, but in no record that a run with these
/// options trains on. Empty if the label has no vocabulary, or if a record has several classes or none. Cost:
/// labels of those records are read until every class has been seen.
/// REQUIRES: options.data_version is set
/// \error as `plan_training`
Result<std::vector<std::string>> missing_classes(const Location& data, const TrainOptions& options,
                                                 const TrainEnvironment& environment,
                                                 const std::stop_token& stop);

/// Checks that options.memory_budget_bytes suffice to train natively with these options. Reads no record.
/// `binding` is that of the model from plan_training. REQUIRES: options.data_version is set
/// \error kResourceExhausted  they do not; the message says how much is needed
/// \error as `plan_training`
Status check_training_memory(const Location& data, const TrainOptions& options, const ModelBinding& binding,
                             const TrainEnvironment& environment, const std::stop_token& stop);

/// A training part, divided by classes.
struct ReadStrata {
  Strata strata;
  /// Number of records that are damaged or lack the label. They are a stratum of their own.
  std::uint64_t unread_records = 0;
};

/// Divides the whole training part, also with a subset, by the classes of the feature `label`. -1 is a class
/// like others. Cost: the feature is read once; memory of 4 bytes for each record, at most half of the
/// budget.
/// REQUIRES: options.data_version is set
/// \error kInvalidArgument    there is no such feature, or it is neither a class number nor one-hot in a
///                            record, which the message names
/// \error kResourceExhausted  the budget is too small; the message says how much is needed
/// \error as `plan_training`
Result<ReadStrata> read_strata(const Location& data, const std::string& label, const TrainOptions& options,
                               const TrainEnvironment& environment, const std::stop_token& stop);

/// Trains a run, and blocks until it is exported. Continues an interrupted run, or a run with more epochs
/// than before; the result has the same bytes as without the interruption. Takes over the run from any other
/// process that still trains it: that process stops when it tries to publish. With kKeras, the process that
/// runs `fit` ends when this process ends, in whatever way.
/// \error kFailedPrecondition  the run was started with another configuration (the message lists the
///                             differences), or the data have changed; with `overwrite`, the folder does not
///                             hold a run
/// \error kInvalidArgument     nothing is published at `data`; the model and the data do not fit each other;
///                             the data cannot be balanced or bucketed as requested
/// \error kNotFound            init_from has no checkpoint
/// \error kAborted             the loss is not finite: training stops, and the last checkpoint stays; or
///                             another process, which the message names, has taken over the run
/// \error kCancelled           `stop` was requested; the same call continues from the last checkpoint
/// \error kUnknown             the process of Keras died; the same call continues from the last checkpoint
Result<TrainResult> train(const Location& data, const Location& run, const TrainOptions& options,
                          const TrainEnvironment& environment, const Actor& actor, const OnStep& on_step,
                          const OnEpoch& on_epoch, const std::stop_token& stop);

}  // namespace headrace

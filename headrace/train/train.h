#pragma once

/// \file The train stage: takes a published dataset and a traced model; writes checkpoints, events and a
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

/// The loop that runs the steps.
enum class TrainLoop : std::uint8_t {
  kNative,  // the traced model, without Python
  kKeras,   // Keras' own `fit`, in a Python process
};

struct TrainOptions {
  TrainLoop loop = TrainLoop::kNative;
  std::string model = "headrace.models:dense_classifier";
  /// "package.module:function", or "folder/file.py:function", that returns a list of Keras callbacks; empty:
  /// none. Only with kKeras.
  std::string callbacks{};
  /// Version of the dataset: number of its manifest. None: the latest; see choose_data_version.
  std::optional<std::uint64_t> data_version{};
  std::string split = "train";
  /// Features for the model's inputs, and labels for its outputs, as `parse_assignments` reads them. Empty:
  /// all features that can be inputs; the label "label", or the only feature with a vocabulary.
  std::string features{};
  std::string labels{};
  /// The feature that weighs each record in the losses of training and validation: one number. Empty: none.
  std::string weights{};
  /// Weights of classes in the loss of training, as parse_class_weights reads them, or "balanced". Empty:
  /// none.
  std::string class_weights{};
  /// Random changes of images while training, as `parse_augmentations` reads them. Empty: none.
  std::string augment{};
  /// The size to which images are resized before they are augmented; the size that the model takes follows
  /// from it where the model leaves it open. None: what the model takes. Must be there with a crop.
  std::optional<ImageSize> image_size{};
  /// Label of which each class is trained on equally often, or ragged feature of which the records of a batch
  /// have similar numbers of values (LoaderOptions::arrangement). Empty: none; at most one of them is given.
  /// Validation is never rearranged.
  std::string balance{};
  std::string bucket{};
  std::uint64_t epochs = 10;
  std::uint64_t batch_size = 128;
  /// Share of the records held out for validation, in [0, 1).
  double validation = 0.1;
  /// Train on these records of the training part only; none: on all. The validation part stays the same. Only
  /// with kNative.
  std::optional<RecordRange> subset{};
  /// The same for records that are not consecutive, by their numbers in the training part; null: all. Not
  /// together with a subset. The configuration has its name.
  std::shared_ptr<const RecordSelection> selection{};
  std::uint64_t seed = 44;
  /// None: as the model was compiled.
  std::optional<double> learning_rate{};
  /// Stop after this many steps in total; 0: no limit.
  std::uint64_t steps = 0;
  /// Stop once the validation loss has not improved for this many epochs, and export the best; 0: never.
  std::uint64_t early_stop = 0;
  /// Begin with the variables of this run's latest checkpoint.
  std::optional<Location> init_from{};
  CorruptionPolicy on_corrupt = CorruptionPolicy::kFail;
  std::uint64_t log_every = 0;  // steps between events within an epoch; 0: none
  /// Score some batches of the first epoch before they are learnt from, and log this (one_pass.h). Only with
  /// kNative.
  bool curve = false;
  /// Memory of the loaders; validation, if any, takes a quarter of it.
  std::uint64_t memory_budget_bytes = 256 << 20;
  int loader_threads = 1;
  /// The cache through which DATA is read, in the form of parse_cache_url; empty: none. The caller has opened
  /// DATA with it; Keras' process opens DATA itself.
  std::string cache_url{};
  /// Threads of one TensorFlow operation. None: those that a run was begun with; else as many as there are
  /// cores if the model may take images, and one if not.
  std::optional<int> intra_op_threads{};
  bool overwrite = false;
};

/// Everything that the stage needs besides data; borrowed.
struct TrainEnvironment {
  Engine& engine;
  const TraceOptions& trace;
  const Environment& environment;
  std::string temporary_folder;  // for files that TensorFlow reads and writes
  /// A line that the model's own Python printed while it trained.
  std::function<void(std::string_view)> on_print = [](std::string_view) {};
  /// The model is made and fits the data: what goes where. Called before the first step.
  std::function<void(const ModelBinding&)> on_binding = [](const ModelBinding&) {};
  /// RUN is gone once `train` has returned, so messages do not tell how to go on with it.
  bool is_run_temporary = false;
  /// Traces a model for the native loop; empty: trace_model, with `trace`. Tests without Python pass
  /// their own.
  std::function<Result<TracedModel>(const TraceRequest&)> tracer{};
};

/// Metrics of one completed epoch, by name: "loss", "accuracy", "val_loss" …
struct EpochMetrics {
  std::uint64_t epoch = 0;  // from 1
  std::uint64_t step = 0;   // completed in all
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
  std::uint64_t steps = 0;           // in all
  std::uint64_t steps_done_now = 0;  // by this process
  double training_seconds = 0;       // of those steps, input included
  LoaderStats loader;
  /// Corrupt records left out of an epoch, including the validation part; if epochs differ, the largest
  /// number.
  std::uint64_t corrupt_records = 0;
  std::vector<std::string> remarks;  // each once
  std::uint64_t exported_epoch = 0;
  std::string export_digest;  // SHA-256 (hex) of the export's manifest
  bool stopped_early = false;
  bool was_finished = false;  // by an earlier process: nothing was done
};

/// The version of the data that a run reads.
struct DataVersion {
  std::uint64_t number = 0;
  std::string remark{};  // for people, if the latest version is another
};

/// The version that a run takes: the one that `options` name; else the one that the run was begun on, if it
/// is there still and the run is not overwritten; else the latest.
/// \error kInvalidArgument  no dataset is published at `data`
Result<DataVersion> choose_data_version(const Location& data, const Location& run,
                                        const TrainOptions& options);

/// The facts that a run's weights depend on, known without training.
struct TrainPlan {
  Configuration configuration;  // as the run keeps it
  TracedModel model;
  std::uint64_t part_records = 0;  // in the training part, whatever the subset
  int intra_op_threads = 1;
  std::string label;  // the feature that is learnt, the first if several are; empty: none
};

/// Opens the data and traces the model for a new run of native training. Nothing is written but the cache of
/// traces. Thread-safe if the environment's tracer is. Only the name of a selection is looked at, unless
/// class_weights is "balanced": then the labels of the records that are trained on are read.
/// REQUIRES: options.data_version is set
/// \error as `train`, for data, model and options that do not fit each other
Result<TrainPlan> plan_training(const Location& data, const TrainOptions& options,
                                const TrainEnvironment& environment, const std::stop_token& stop);

/// The classes that occur in the split, but in no record that a run with these options trains on. Empty if
/// the label has no vocabulary, or a record has several classes. Cost: labels of those records are read
/// until each class has been seen.
/// REQUIRES: options.data_version is set
/// \error as `plan_training`
Result<std::vector<std::string>> missing_classes(const Location& data, const TrainOptions& options,
                                                 const TrainEnvironment& environment,
                                                 const std::stop_token& stop);

/// Whether options.memory_budget_bytes suffice to train natively with these options. No record is read.
/// `binding`: of the model, as plan_training traces it. REQUIRES: options.data_version is set
/// \error kResourceExhausted  they do not: says how much it takes
/// \error as `plan_training`
Status check_training_memory(const Location& data, const TrainOptions& options, const ModelBinding& binding,
                             const TrainEnvironment& environment, const std::stop_token& stop);

/// A training part by classes.
struct ReadStrata {
  Strata strata;
  /// Records that were left out, since they are damaged or lack the label: a stratum of their own.
  std::uint64_t unread_records = 0;
};

/// The training part by the classes of the feature `label`, whatever the subset. -1 is a class like others.
/// Cost: the feature is read once. Memory: 4 bytes for each record, at most half of the budget.
/// REQUIRES: options.data_version is set
/// \error kInvalidArgument    there is no such feature, or it is no class number and not one-hot in a record,
///                            which is named
/// \error kResourceExhausted  the budget is too small: says how much it takes
/// \error as `plan_training`
Result<ReadStrata> read_strata(const Location& data, const std::string& label, const TrainOptions& options,
                               const TrainEnvironment& environment, const std::stop_token& stop);

/// Trains; or continues an interrupted run, or one that is to have more epochs than it was begun with, to
/// the same bytes as if it had been trained at once. Takes the run over from any process that trains it
/// still: that one stops when it wants to publish. With kKeras, the process that runs `fit` ends when this
/// one does, however that ends.
/// \error kFailedPrecondition  the run was started with another configuration (named), or data have changed;
///                             with `overwrite`, the folder does not hold a run
/// \error kInvalidArgument     the model and the data do not fit each other; the data cannot be balanced or
///                             bucketed as told
/// \error kAborted             the loss is not finite: training stops, the last checkpoint stays; or somebody
///                             else
///                             took the run over: names them
/// \error kCancelled           stopped; the same call continues from the last checkpoint
/// \error kUnknown             Keras' process died; the same call continues from the last checkpoint
Result<TrainResult> train(const Location& data, const Location& run, const TrainOptions& options,
                          const TrainEnvironment& environment, const Actor& actor, const OnStep& on_step,
                          const OnEpoch& on_epoch, const std::stop_token& stop);

}  // namespace headrace

#pragma once

/// \file The state that both loops share, and their common beginning and end.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/engine/tensorflow/trace.h"
#include "headrace/store/staging.h"
#include "headrace/stream/augmentation_names.h"
#include "headrace/stream/dataset.h"
#include "headrace/track/stage_output.h"
#include "headrace/train/event_log.h"
#include "headrace/train/train.h"

namespace headrace {

/// Arguments of `train`, borrowed, and what was found of the data.
struct TrainRun {
  const Location& data;
  const Location& run;
  const TrainOptions& options;
  const TrainEnvironment& environment;
  const Actor& actor;
  const OnStep& on_step;
  const OnEpoch& on_epoch;
  const std::stop_token& stop;

  std::shared_ptr<const Dataset> dataset{};
  TraceRequest request{};  // the model, and the features that it may take
  std::vector<Augmentation> augmentations{};
  WindowArrangement arrangement{};    // of the training part
  int order_version = kOrderVersion;  // of a run that is continued: the version that it began with
  int intra_op_threads = 1;
  RecordRange train_range{};
  RecordRange validation_range{};
  Configuration configuration{};
  std::string plan{};       // the configuration's digest
  OutputState seen{};       // of the output, before it is taken
  std::string init_kind{};  // of the manifest of the checkpoint to begin with; empty without one

  double wall_time_s() const;
  LoaderSource training_source() const;
  std::uint64_t train_records() const { return count_of(training_source()); }
};

/// TrainOptions::intra_op_threads, decided. `begun`: the configuration of the run that is continued.
int choose_intra_op_threads(const TrainRun& run, const std::optional<Configuration>& begun);

/// The result with everything that is known before training.
TrainResult begin_result(const TrainRun& run);

/// The columns that a loader has to read for the steps of this model; `trains`: with the augmentations and
/// the arrangement.
LoaderOptions columns_for(const TrainRun& run, const ModelBinding& binding, bool trains);

/// Adds the remark, unless it is there: every epoch meets the same damage.
void add_remark(TrainResult& result, const std::string& remark);

/// Opens the data, and finds all that follows from data and options. `begun`: the configuration of the run
/// that is continued.
/// \error as `train`
Status describe_run(TrainRun& run, const std::optional<Configuration>& begun);

/// The same, and checks that the run may begin or continue. Nothing is changed.
/// \error as `train`
Status open_run(TrainRun& run);

/// The traced model of a new run.
/// \error as `trace_model`, and as `weighed_request`
Result<TracedModel> trace_run(const TrainRun& run);

/// Takes the output for this run, after data, model and options were found to fit. If it overwrites a run,
/// the manifests of that one stay until this one has exported.
/// \error kAborted  somebody else has begun or taken over the run meanwhile
Result<OwnedOutput> claim_run(const TrainRun& run);

/// Division of the memory for reading: two loaders may exist at once.
struct LoaderBudgets {
  std::uint64_t training_bytes = 0;
  std::uint64_t validation_bytes = 0;
};
LoaderBudgets loader_budgets(const TrainRun& run);

/// The options of the native loop's loaders: of the training part; or in dataset order (kNone), of the
/// validation part.
LoaderOptions native_loader_options(const TrainRun& run, const ModelBinding& binding, ShuffleMode shuffle);

/// The model that a run was begun with, in a local folder.
struct KeptModel {
  StagedFolder folder;
  TracedModel model;
};

inline constexpr std::string_view kModelFolder = "model";

/// The model that `published` publishes.
Result<KeptModel> open_kept_model(const TrainRun& run, const PublishedFolder& published);

/// The error for a finished run of which a folder publishes nothing.
/// kAborted: it was overwritten or removed meanwhile. Else kDataLoss.
Error folder_is_gone(const TrainRun& run, std::string_view folder);

/// The manifest in a folder of the run that is to be continued, before the run is taken; none if there is
/// none.
Result<std::optional<PublishedFolder>> find_begun(const TrainRun& run, std::string_view folder);

/// Publishes a local folder in RUN/model.
Status keep_model(const TrainRun& run, OwnedOutput& owned, const std::string& folder);

/// Sets `result.export_digest` if the run is exported already; then nothing is left to do but what may be
/// missing after an interruption, which this does.
Result<bool> is_exported(const TrainRun& run, TrainResult& result);

/// Exports the present variables of `model`. Requires `result.exported_epoch` and the model's description;
/// sets `result.export_digest`.
Status export_run(const TrainRun& run, OwnedOutput& owned, Model& model, TrainResult& result);

/// Epoch (from 1) with the lowest validation loss; the last one if there is none.
std::uint64_t best_epoch(const std::vector<EpochMetrics>& history);

/// The error for `what` that is no longer finite, at `step` in epoch `epoch`. `is_run_temporary`: as the
/// environment has it.
Error diverged(std::string_view what, std::uint64_t epoch, std::uint64_t step, bool is_run_temporary);

/// Damage under `fail`, with what can be done about it.
Error with_train_advice(Error error, bool is_run_temporary);

/// Removes what owners before the one with entry `owner` logged of epochs after `epoch`, the last one that is
/// completed, and what a later owner has logged again.
Status remove_superseded_events(const TrainRun& run, std::uint64_t epoch, std::uint64_t owner);

/// Where the time of an epoch's training went. The rest of `all` is the model's.
struct EpochSeconds {
  double all = 0;
  double input = 0;      // waiting for batches
  double hand_over = 0;  // between the loader and the model
};

/// The curves of a run: one segment of training and one of validation for each epoch.
class RunEvents {
 public:
  /// Names of segments end in `suffix`.
  RunEvents(const TrainRun& run, const std::string& suffix);

  void begin(std::uint64_t epoch);
  void batch_loss(std::uint64_t step, double loss);
  /// Adds the shares in percent: docs/formats/run-layout.md, "Where the time went".
  void time_spent(std::uint64_t epoch, const EpochSeconds& seconds);
  /// For what only one loop logs.
  EventLog& training() { return training_; }
  EventStamp stamp(std::uint64_t step) const;
  /// Adds the epoch's metrics and writes its segments.
  Status end(const EpochMetrics& metrics);

 private:
  const TrainRun& run_;
  EventLog training_;
  EventLog validation_;
};

/// The loops. `run` was opened.
Result<TrainResult> train_natively(const TrainRun& run);
Result<TrainResult> train_with_keras(const TrainRun& run);

}  // namespace headrace

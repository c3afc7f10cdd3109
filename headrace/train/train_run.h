#pragma once

/// \file The state that both training loops share, and their common beginning and end.

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

/// The arguments of `train`, borrowed, and the facts found in the data.
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
  TraceRequest request{};  // the model, and the features that it may take as inputs
  std::vector<Augmentation> augmentations{};
  WindowArrangement arrangement{};    // of the training part
  int order_version = kOrderVersion;  // for a continued run, the version with which it began
  int intra_op_threads = 1;
  RecordRange train_range{};
  RecordRange validation_range{};
  Configuration configuration{};
  std::string plan{};       // the configuration's digest
  OutputState seen{};       // state of the output before it is taken
  std::string init_kind{};  // manifest kind of the checkpoint of init_from; empty without one

  double wall_time_s() const;
  LoaderSource training_source() const;
  std::uint64_t train_records() const { return count_of(training_source()); }
};

/// Chooses the number of threads as TrainOptions::intra_op_threads says. `begun` is the configuration of the
/// run that is continued; nullopt: a new run.
int choose_intra_op_threads(const TrainRun& run, const std::optional<Configuration>& begun);

/// A result with everything that is known before training.
TrainResult begin_result(const TrainRun& run);

/// Loader options with the columns for the steps of this model. `trains`: also with the augmentations and the
/// arrangement of training.
LoaderOptions columns_for(const TrainRun& run, const ModelBinding& binding, bool trains);

/// Adds the remark, unless it is already there: every epoch meets the same damage.
void add_remark(TrainResult& result, const std::string& remark);

/// Opens the data, and sets all members of `run` that follow from data and options. `begun` is the
/// configuration of the run that is continued; nullopt: a new run.
/// \error as `train`
Status describe_run(TrainRun& run, const std::optional<Configuration>& begun);

/// As describe_run, and also checks that the run may begin or continue. Writes nothing.
/// \error as `train`
Status open_run(TrainRun& run);

/// Traces the model of a new run.
/// \error as `trace_model`, and as `weighed_request`
Result<TracedModel> trace_run(const TrainRun& run);

/// Takes ownership of the output. Call it when data, model and options are known to fit. If the run
/// overwrites another one, the manifests of that one stay until this one has exported.
/// \error kAborted  another process has begun or taken over the run meanwhile
Result<OwnedOutput> claim_run(const TrainRun& run);

/// How the memory for reading is divided: two loaders may exist at the same time.
struct LoaderBudgets {
  std::uint64_t training_bytes = 0;
  std::uint64_t validation_bytes = 0;
};
LoaderBudgets loader_budgets(const TrainRun& run);

/// The options of the native loop's loaders: with ShuffleMode::kNone for the validation part, in dataset
/// order, otherwise for the training part.
LoaderOptions native_loader_options(const TrainRun& run, const ModelBinding& binding, ShuffleMode shuffle);

/// The model with which a run was begun, in a local folder.
struct KeptModel {
  StagedFolder folder;
  TracedModel model;
};

inline constexpr std::string_view kModelFolder = "model";

/// Downloads the model that `published` publishes.
Result<KeptModel> open_kept_model(const TrainRun& run, const PublishedFolder& published);

/// The error for a finished run in which `folder` publishes nothing: kAborted if the run was overwritten or
/// removed meanwhile, else kDataLoss.
Error folder_is_gone(const TrainRun& run, std::string_view folder);

/// The published content of a folder of the run to continue, before the run is taken; nullopt: there is none.
Result<std::optional<PublishedFolder>> find_begun(const TrainRun& run, std::string_view folder);

/// Publishes a local folder in RUN/model.
Status keep_model(const TrainRun& run, OwnedOutput& owned, const std::string& folder);

/// Whether the run is already exported. If so, sets `result.export_digest`, and does what an interruption
/// after the export has left undone.
Result<bool> is_exported(const TrainRun& run, TrainResult& result);

/// Exports the present variables of `model`, and sets `result.export_digest`.
/// \error as export_model
/// REQUIRES: result.exported_epoch, result.steps, result.history and result.model are set
Status export_run(const TrainRun& run, OwnedOutput& owned, Model& model, TrainResult& result);

/// The epoch (from 1) with the lowest validation loss; without validation the last one; 0 without epochs.
std::uint64_t best_epoch(const std::vector<EpochMetrics>& history);

/// The kAborted error for a run that has diverged at `step` in epoch `epoch`. `what` says, for the message,
/// that a value is not finite. `is_run_temporary` as in TrainEnvironment.
Error diverged(std::string_view what, std::uint64_t epoch, std::uint64_t step, bool is_run_temporary);

/// The error with advice if it is kDataLoss, i.e. damaged records under CorruptionPolicy::kFail.
Error with_train_advice(Error error, bool is_run_temporary);

/// As remove_superseded_segments (event_log.h), for both curves of a run.
Status remove_superseded_events(const TrainRun& run, std::uint64_t epoch, std::uint64_t owner);

/// How the training time of an epoch was spent. The rest of `all` is the time of the model.
struct EpochSeconds {
  double all = 0;
  double input = 0;      // time waiting for batches
  double hand_over = 0;  // time between the loader and the model
};

/// Logs the curves of a run: one segment for training and one for validation in each epoch.
class RunEvents {
 public:
  /// The names of the segments end in `suffix`. `run` must outlive this.
  RunEvents(const TrainRun& run, const std::string& suffix);

  void begin(std::uint64_t epoch);
  void batch_loss(std::uint64_t step, double loss);
  /// Logs the shares of the time in percent: docs/formats/run-layout.md, "Where the time went".
  void time_spent(std::uint64_t epoch, const EpochSeconds& seconds);
  /// The training log, for events that only one of the loops logs.
  EventLog& training() { return training_; }
  EventStamp stamp(std::uint64_t step) const;
  /// Logs the epoch's metrics, and writes its segments.
  Status end(const EpochMetrics& metrics);

 private:
  const TrainRun& run_;
  EventLog training_;
  EventLog validation_;
};

/// The two loops. REQUIRES: open_run(run) has succeeded
Result<TrainResult> train_natively(const TrainRun& run);
Result<TrainResult> train_with_keras(const TrainRun& run);

}  // namespace headrace

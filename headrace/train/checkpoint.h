#pragma once

/// \file Checkpoints of a run: a TensorFlow checkpoint and the position in the data, published together.

#include <optional>
#include <string>
#include <vector>

#include "headrace/engine/engine.h"
#include "headrace/track/stage_output.h"
#include "headrace/train/train.h"

namespace headrace {

/// Kinds of manifests in RUN/checkpoints: of the native loop, and of Keras (docs/formats/keras-checkpoint).
inline constexpr std::string_view kCheckpointKind = "checkpoint";
inline constexpr std::string_view kKerasCheckpointKind = "keras-checkpoint";

inline constexpr std::string_view kCheckpointsFolder = "checkpoints";

/// The state from which a run continues.
struct RunState {
  std::uint64_t epoch = 0;  // number of completed epochs
  std::uint64_t step = 0;   // number of completed steps in all epochs
  std::string loader_state;
  std::vector<EpochMetrics> history;
  /// Whether training has ended: the last epoch is done, or early stopping has ended it.
  bool finished = false;
};

/// The state that a checkpoint holds.
/// \error kDataLoss  its manifest does not follow docs/formats/run-layout.md
Result<RunState> read_state(const PublishedFolder& checkpoint);

/// Restores the model's variables from a checkpoint. The files are downloaded to `temporary_folder`, and
/// removed afterwards.
/// \error kInvalidArgument  the checkpoint belongs to another model
Status restore_checkpoint(Model& model, const PublishedFolder& checkpoint,
                          const std::string& temporary_folder);

/// Reads and writes the checkpoints of a run that this process owns. Not thread-safe.
class CheckpointStore {
 public:
  /// `run` must outlive the store. `plan` is the configuration's digest.
  CheckpointStore(OwnedOutput& run, std::string temporary_folder, std::string plan, std::string run_id);

  /// Restores the model's variables from the latest checkpoint, and returns its state; nullopt: there is no
  /// checkpoint. Call it before the first `save`.
  /// \error as restore_checkpoint and read_state
  Result<std::optional<RunState>> restore_latest(Model& model) const;

  /// Saves and publishes the next checkpoint.
  /// \error kAborted  another process owns the run now
  Status save(Model& model, const RunState& state);

  /// Restores the model's variables to their values after epoch `epoch`.
  /// \error kNotFound  there is no such checkpoint
  Status restore_epoch(Model& model, std::uint64_t epoch) const;

 private:
  OwnedOutput& run_;
  const std::string temporary_folder_;
  const std::string plan_;
  const std::string run_id_;
};

}  // namespace headrace

#pragma once

/// \file Checkpoints of a run: a TensorFlow checkpoint and its position in the data, published together.

#include <optional>
#include <string>
#include <vector>

#include "headrace/engine/engine.h"
#include "headrace/track/stage_output.h"
#include "headrace/train/train.h"

namespace headrace {

/// Kinds of manifest in RUN/checkpoints: of the native loop, and of Keras' (docs/formats/keras-checkpoint).
inline constexpr std::string_view kCheckpointKind = "checkpoint";
inline constexpr std::string_view kKerasCheckpointKind = "keras-checkpoint";

inline constexpr std::string_view kCheckpointsFolder = "checkpoints";

/// The state from which a run continues.
struct RunState {
  std::uint64_t epoch = 0;  // completed
  std::uint64_t step = 0;   // completed in all
  std::string loader_state;
  std::vector<EpochMetrics> history;
  /// Training has ended: the last epoch is done, or it was stopped early.
  bool finished = false;
};

/// The state that a checkpoint holds.
/// \error kDataLoss  its manifest is not as docs/formats/run-layout.md says
Result<RunState> read_state(const PublishedFolder& checkpoint);

/// Restores the model's variables from a checkpoint. `temporary_folder` holds the files on their way.
/// \error kInvalidArgument  it is of another model
Status restore_checkpoint(Model& model, const PublishedFolder& checkpoint,
                          const std::string& temporary_folder);

/// Checkpoints of a run that this process owns.
class CheckpointStore {
 public:
  /// Borrows `run`. `plan` is the configuration's digest.
  CheckpointStore(OwnedOutput& run, std::string temporary_folder, std::string plan, std::string run_id);

  /// The state of the latest checkpoint, after restoring the model's variables from it; none if there is
  /// none. Call it before the first `save`.
  Result<std::optional<RunState>> restore_latest(Model& model) const;

  /// Saves and publishes the next checkpoint.
  /// \error kAborted  somebody else owns the run now
  Status save(Model& model, const RunState& state);

  /// Restores the variables after epoch `epoch`.
  /// \error kNotFound  there is no such checkpoint
  Status restore_epoch(Model& model, std::uint64_t epoch) const;

 private:
  OwnedOutput& run_;
  const std::string temporary_folder_;
  const std::string plan_;
  const std::string run_id_;
};

}  // namespace headrace

#pragma once

/// \file Checkpoints of a run: a TensorFlow checkpoint and its position in the data, published together.

#include <optional>
#include <string>
#include <vector>

#include "headrace/engine/engine.h"
#include "headrace/track/published_folder.h"
#include "headrace/train/train.h"

namespace headrace {

/// Kinds of manifest in RUN/checkpoints: of the native loop, and of Keras' (docs/formats/keras-checkpoint).
inline constexpr std::string_view kCheckpointKind = "checkpoint";
inline constexpr std::string_view kKerasCheckpointKind = "keras-checkpoint";

/// The state from which a run continues.
struct RunState {
  std::uint64_t epoch = 0;  // completed
  std::uint64_t step = 0;   // completed in all
  std::string loader_state;
  std::vector<EpochMetrics> history;
  /// Training has ended: the last epoch is done, or it was stopped early.
  bool finished = false;
};

class CheckpointStore {
 public:
  /// `run` is the run's folder; `temporary_folder` holds the files on their way. `plan` is the
  /// configuration's digest.
  CheckpointStore(const Location& run, std::string temporary_folder, std::string plan, std::string run_id);

  /// The state of the latest checkpoint, after restoring the model's variables from it; none if there is
  /// none.
  Result<std::optional<RunState>> restore_latest(Model& model) const;

  /// Saves and publishes the next checkpoint. Overwrites files of a process that died before publishing.
  Status save(Model& model, const RunState& state);

  /// Restores the variables after epoch `epoch`.
  /// \error kNotFound  there is no such checkpoint
  Status restore_epoch(Model& model, std::uint64_t epoch) const;

 private:
  Status restore(Model& model, const PublishedFolder& published) const;

  const Location folder_;
  const std::string temporary_folder_;
  const std::string plan_;
  const std::string run_id_;
};

}  // namespace headrace

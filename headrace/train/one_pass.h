#pragma once

/// \file Scores batches of the first epoch before the model is trained on them:
/// docs/decisions/learning-curves.md, "One pass".

#include <cstdint>
#include <set>

#include "headrace/stream/batch.h"
#include "headrace/train/event_log.h"
#include "headrace/train/step_loop.h"

namespace headrace {

/// Prefix of the tags of the scalars; the rest is the metric's name.
inline constexpr std::string_view kOnePassTag = "curve_";

/// The numbers of the batches to score, at equal logarithmic distances. Batches count from 0; batch 0 is
/// never scored. At most 64 numbers, and at most a thirtieth of the steps of the run. Pure.
std::set<std::uint64_t> one_pass_batches(std::uint64_t batches_per_epoch, std::uint64_t total_steps);

/// Scores batches of one first epoch. Not thread-safe.
class OnePass {
 public:
  /// `eval_step` is a call of the signature "eval_step".
  OnePass(StepCall eval_step, std::uint64_t batches_per_epoch, std::uint64_t total_steps)
      : eval_step_(std::move(eval_step)), batches_(one_pass_batches(batches_per_epoch, total_steps)) {}

  /// Call it with each batch before the training step on that batch. If the batch is one to score, logs each
  /// metric at the number of records trained on so far: `batch_number` · `batch_size`. Logs nothing if the
  /// loss is not finite. Changes no variable. Cost: about a third of a step for a batch to score, else
  /// nothing.
  /// \error as StepCall::run
  Status score(const Batch& batch, const BatchLoader& loader, std::uint64_t batch_number,
               std::uint64_t batch_size, double wall_time_s, EventLog& log);

 private:
  StepCall eval_step_;
  const std::set<std::uint64_t> batches_;
};

}  // namespace headrace

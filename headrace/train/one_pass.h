#pragma once

/// \file Scores batches of the first epoch before they are learnt from: docs/decisions/learning-curves.md,
/// "One pass".

#include <cstdint>
#include <set>

#include "headrace/stream/batch.h"
#include "headrace/train/event_log.h"
#include "headrace/train/step_loop.h"

namespace headrace {

/// Begins the tags of the scalars; the rest is the metric's name.
inline constexpr std::string_view kOnePassTag = "curve_";

/// Numbers of the batches to score, from 0, without the first: at equal distances of their logarithms. At
/// most 64, and at most a thirtieth of the steps of the run. Pure.
std::set<std::uint64_t> one_pass_batches(std::uint64_t batches_per_epoch, std::uint64_t total_steps);

/// The scoring of one first epoch. Not thread-safe.
class OnePass {
 public:
  /// `eval_step`: a call of the signature of that name.
  OnePass(StepCall eval_step, std::uint64_t batches_per_epoch, std::uint64_t total_steps)
      : eval_step_(std::move(eval_step)), batches_(one_pass_batches(batches_per_epoch, total_steps)) {}

  /// Call it with each batch before the step that learns from it. If the batch is one of those to score, logs
  /// each metric, at the number of records that were learnt from: `batch_number` · `batch_size`. Changes no
  /// variable. Cost: nothing, or about a third of a step.
  /// \error as StepCall::run
  Status score(const Batch& batch, const BatchLoader& loader, std::uint64_t batch_number,
               std::uint64_t batch_size, double wall_time_s, EventLog& log);

 private:
  StepCall eval_step_;
  const std::set<std::uint64_t> batches_;
};

}  // namespace headrace

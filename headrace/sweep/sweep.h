#pragma once

/// \file Trains a model on subsets of a dataset, with several seeds, and stores the scores. Design:
/// docs/decisions/learning-curves.md.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/coordinate/task_claims.h"
#include "headrace/sweep/score.h"
#include "headrace/train/train.h"

namespace headrace {

struct SweepOptions {
  /// The options of each run; `data_version` must be set. The seeds are `training.seed` and the next ones.
  TrainOptions training{};
  std::string test_split = "test";
  std::size_t sizes = 5;  // as subset_sizes
  std::size_t seeds = 3;
  /// A label: each subset has its classes in the same shares as the training part, as stratum_sizes says.
  /// Empty: subsets are ranges.
  std::string stratify{};
  /// Number of runs that train at the same time. 0: as many as processors and free memory allow.
  int at_once = 0;
  /// The leases that keep two processes from training the same run.
  LeaseOptions leases{.renewed_each = std::chrono::seconds(5), .stale_after = std::chrono::seconds(20)};
  /// How often to look for scores that another process is training.
  std::chrono::milliseconds look_each = std::chrono::seconds(1);
};

/// The progress of a sweep. A record counts once for each epoch in which it is trained on.
struct SweepProgress {
  std::uint64_t records = 0;
  std::uint64_t total_records = 0;
  std::size_t scores = 0;
  std::size_t total_scores = 0;
};
using OnSweep = std::function<void(const SweepProgress&)>;

struct SweepResult {
  std::vector<Score> scores;  // by size, largest first, and by seed
  std::size_t trained = 0;    // number of scores trained by this process
  std::vector<std::string> remarks;
};

/// Measures the model on the test split for each size and seed. Scores that are already in `folder` are
/// reused; the others are trained, and created there (docs/formats/learning-curve.md, "Scores"), unless
/// damaged records were left out: such scores are only returned. Several processes may measure into one
/// folder at the same time: they share the work. Runs train in temporary folders, which are removed at the
/// end. If all scores exist, no record is read, except labels for class weights "balanced". `on_progress` is
/// called from the training threads, one call at a time. Blocks until all scores are known.
/// \error kInvalidArgument    the test split is empty, is the training split, or shares an id with it; there
///                            are too few records for the sizes, or fewer than classes; a record's label is
///                            not a class; as `train` and `evaluate`
/// \error kResourceExhausted  the budget is too small to train on all records or on the largest stratified
///                            subset; this is checked before any training
/// \error kAborted            a run diverged; the message names it
/// \error kCancelled          `stop` was requested; the same call continues with the existing scores
/// \error kDataLoss           a score is damaged
Result<SweepResult> measure_sweep(const Location& data, const Location& folder, const SweepOptions& options,
                                  const TrainEnvironment& environment, const Actor& actor,
                                  const OnSweep& on_progress, const std::stop_token& stop);

}  // namespace headrace

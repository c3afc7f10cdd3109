#pragma once

/// \file Trains a model on subsets of a dataset, with several seeds, and keeps the scores. Why it is so:
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
  /// The options of each run; `data_version` is set. The seeds are this one and those that follow.
  TrainOptions training{};
  std::string test_split = "test";
  std::size_t sizes = 5;  // as subset_sizes
  std::size_t seeds = 3;
  /// The label of which each subset has each class in the share that it has in the training part, as
  /// stratum_sizes; empty: subsets are ranges.
  std::string stratify{};
  /// Runs that train at once. 0: as many as processors and free memory allow.
  int at_once = 0;
  /// Leases keep two processes from training the same.
  LeaseOptions leases{.renewed_each = std::chrono::seconds(5), .stale_after = std::chrono::seconds(20)};
  /// How often to look for scores that another process is training.
  std::chrono::milliseconds look_each = std::chrono::seconds(1);
};

/// How far a sweep is. A record counts once for each epoch in which it is trained on.
struct SweepProgress {
  std::uint64_t records = 0;
  std::uint64_t total_records = 0;
  std::size_t scores = 0;
  std::size_t total_scores = 0;
};
using OnSweep = std::function<void(const SweepProgress&)>;

struct SweepResult {
  std::vector<Score> scores;  // by size, largest first, and by seed
  std::size_t trained = 0;    // by this process; the others were there, or another process trained them
  std::vector<std::string> remarks;
};

/// Measures the model on the test split for each size and seed. Scores that are in `folder` are taken from
/// there; the others are trained, and created there (docs/formats/learning-curve.md, "Scores"). Several
/// processes may measure into one folder at once: they share the work. Runs train in temporary folders,
/// which are gone at the end. If all scores are there, no record is read, except labels for class weights
/// "balanced". `on_progress` is called from the threads that train, one at a time.
/// \error kInvalidArgument  the test split is the one to train on, or has an id of it; too few records for
///                          the sizes, or fewer than classes; a record whose label is no class; or as
///                          `train` and `evaluate`
/// \error kResourceExhausted  the budget does not suffice to train on all records or on the largest
///                          stratified subset, which is found before anything is trained
/// \error kAborted          a run diverged: says which
/// \error kCancelled        stopped; the same call goes on with the scores that are there
/// \error kDataLoss         a score is damaged
Result<SweepResult> measure_sweep(const Location& data, const Location& folder, const SweepOptions& options,
                                  const TrainEnvironment& environment, const Actor& actor,
                                  const OnSweep& on_progress, const std::stop_token& stop);

}  // namespace headrace

#pragma once

/// \file A learning curve from one training run, from the errors of batches that were scored before the model
/// was trained on them. docs/decisions/learning-curves.md, "One pass".

#include <vector>

#include "headrace/study/measured_curve.h"

namespace headrace {

/// A batch that was scored when the model had been trained on `records` records, each once.
struct ScoredBatch {
  double records = 0;  // ≥ 1
  double error = 0;    // of the batch
};

/// Groups the batches by ⌊log2(records)⌋. Each group is a size: the geometric mean of its `records`. Its
/// batches are dealt out in turn to up to three runs, and the error of a run is the mean of its batches, so
/// the spread of the runs is that of means. If a run has an error of 0, the group makes one run. Pure.
/// \error kInvalidArgument  there are fewer than kLeastCurveSizes sizes, or more than kMostCurveRuns batches;
///                          a batch has less than 1 record or infinitely many; all errors of a size are 0
Result<std::vector<MeasuredError>> runs_of_one_pass(const std::vector<ScoredBatch>& batches);

/// A sentence for people that explains the errors of one pass.
std::string_view one_pass_remark();

}  // namespace headrace

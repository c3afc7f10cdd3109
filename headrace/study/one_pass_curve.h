#pragma once

/// \file A learning curve from one training run: the errors of batches that were scored before they were
/// learnt from. docs/decisions/learning-curves.md, "One pass".

#include <vector>

#include "headrace/study/measured_curve.h"

namespace headrace {

/// A batch that was scored when the model had learnt from `records` records, each once.
struct ScoredBatch {
  double records = 0;  // ≥ 1
  double error = 0;    // of the batch
};

/// Puts batches together whose records have the same power of two below them: that is a size, the geometric
/// mean of theirs. Its batches are dealt out in turn to up to three runs, whose errors are the means; so
/// their spread is that of means. Where a run of a size has no error, there is one run. Pure.
/// \error kInvalidArgument  fewer than kLeastCurveSizes sizes; a batch without records; more than
///                          kMostCurveRuns; a size without any error
Result<std::vector<MeasuredError>> runs_of_one_pass(const std::vector<ScoredBatch>& batches);

/// A sentence for people: what errors of one pass are.
std::string_view one_pass_remark();

}  // namespace headrace

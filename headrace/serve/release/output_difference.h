#pragma once

/// \file How far the answers of two versions to the same rows differ.

#include <cstdint>

#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

struct OutputDifference {
  std::uint64_t rows = 0;  // number of rows compared
  std::uint64_t rows_that_differ = 0;
  double largest = 0;  // largest absolute difference; infinite if a number that differs is not finite
};

/// Compares each output of `answers` with the output of the same name of `others`. A row differs if a number
/// differs by more than `tolerance`, or if a text, a shape, or a value of another type is not equal. Two NaN
/// are equal.
/// \error kFailedPrecondition  an output is missing on one side or has another type, or the numbers of rows
///                             differ
/// \error any                  a row has no answer: the error of that row
Result<OutputDifference> compare_outputs(const BatchAnswers& answers, const ServedSignature& signature,
                                         const BatchAnswers& others, const ServedSignature& other_signature,
                                         double tolerance);

}  // namespace headrace

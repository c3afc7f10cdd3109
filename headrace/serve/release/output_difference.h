#pragma once

/// \file How far the answers of two versions to the same rows differ.

#include <cstdint>

#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

struct OutputDifference {
  std::uint64_t rows = 0;  // that were compared
  std::uint64_t rows_that_differ = 0;
  double largest = 0;  // absolute difference of two numbers; infinite beside a NaN or an infinity
};

/// Compares each output of `answers` with the output of that name of `others`. A row differs if a number
/// differs by more than `tolerance`, or if a text, a shape, or a value of another type is not the same. Two
/// NaN are the same.
/// \error kFailedPrecondition  only one has an output, it is of another type, or the numbers of rows differ
/// \error any                  a row has no answer: its error
Result<OutputDifference> compare_outputs(const BatchAnswers& answers, const ServedSignature& signature,
                                         const BatchAnswers& others, const ServedSignature& other_signature,
                                         double tolerance);

}  // namespace headrace

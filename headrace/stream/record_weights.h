#pragma once

/// \file Checks the weights that a feature gives to records.

#include "headrace/engine/model_binding.h"
#include "headrace/engine/tensor.h"
#include "headrace/stream/batch.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Checks that each record of a batch of `loader` has a weight that is finite and not below 0. `values` is
/// the batch's column of the feature `weights`, float32 or int64. Cost: a comparison for each value.
/// \error kInvalidArgument  a weight has another value; the message names the first such record
Status check_record_weights(const ModelFeature& weights, const TensorView& values, const Batch& batch,
                            const BatchLoader& loader);

}  // namespace headrace

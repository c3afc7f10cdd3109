#pragma once

/// \file Checks of the weights that a feature gives to records.

#include "headrace/engine/model_binding.h"
#include "headrace/engine/tensor.h"
#include "headrace/stream/batch.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Whether each record of a batch of `loader` has a weight that is finite and not below 0. `values`: the
/// batch's column of `weights`, float32 or int64. Cost: a look at each value.
/// \error kInvalidArgument  names the first record that has another
Status check_record_weights(const ModelFeature& weights, const TensorView& values, const Batch& batch,
                            const BatchLoader& loader);

}  // namespace headrace

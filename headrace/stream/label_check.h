#pragma once

/// \file Checks of labels against what a model's losses take.

#include <span>

#include "headrace/engine/model_binding.h"
#include "headrace/engine/tensor.h"
#include "headrace/stream/batch.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Whether each record of a batch of `loader` has labels that the losses of its targets are defined for. Only
/// int64 labels are looked at: the number of a class must be below the number of classes, or be the one that
/// the loss leaves out (a negative one is TensorFlow's to refuse); binary and multi-label ones are 0 or 1, or
/// with margins also -1. Other values would train a model in silence. `columns`: the batch's, in the order of
/// `binding.step_features()`. Cost: a look at each int64 label.
/// \error kInvalidArgument  names the first record with another value
Status check_labels(const ModelBinding& binding, std::span<const TensorView> columns, const Batch& batch,
                    const BatchLoader& loader);

}  // namespace headrace

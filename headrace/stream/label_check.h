#pragma once

/// \file Checks labels against the values that a model's losses allow.

#include <span>

#include "headrace/engine/model_binding.h"
#include "headrace/engine/tensor.h"
#include "headrace/stream/batch.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Checks that each record of a batch of `loader` has labels for which the losses are defined. Other values
/// would train a wrong model without a message. Only int64 labels are checked. The number of a class must be
/// below the number of classes, or be the class that the loss ignores; TensorFlow refuses negative numbers.
/// Binary and multi-label labels must be 0 or 1; with margins, -1 is allowed, too. `columns` are those of the
/// batch, in the order of `binding.step_features()`. Cost: a comparison for each int64 label.
/// \error kInvalidArgument  a label has another value; the message names the first such record
Status check_labels(const ModelBinding& binding, std::span<const TensorView> columns, const Batch& batch,
                    const BatchLoader& loader);

}  // namespace headrace

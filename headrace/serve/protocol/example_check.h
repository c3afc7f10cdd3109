#pragma once

/// \file Checks that bytes are a tf.Example before they go into a batch: if a model cannot parse one example,
/// it fails the whole batch, including the examples of other requests.

#include "headrace/base/bytes.h"

namespace headrace {

/// Whether a message is a well-formed tf.Example, down to the numbers in its lists. Unknown fields are
/// ignored. Cost: linear in the message; no allocation.
bool is_example(BytesView message);

}  // namespace headrace

#pragma once

/// \file Whether bytes are a tf.Example, before they go into a batch: a model that cannot parse one example
/// fails the whole batch, with the examples of others.

#include "headrace/base/bytes.h"

namespace headrace {

/// Whether a message is a well-formed tf.Example, down to the numbers of its lists. Unknown fields are passed
/// over. Allocates nothing. Time: linear.
bool is_example(BytesView message);

}  // namespace headrace

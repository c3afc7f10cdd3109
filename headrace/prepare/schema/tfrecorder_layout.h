#pragma once

/// \file Records as google/tensorflow-recorder 2.0.1 laid them out: docs/how-to/from-tfrecorder.md.

#include "headrace/base/result.h"
#include "headrace/prepare/schema/schema.h"

namespace headrace {

/// The schema with its image as `image` (raw pixels, grey or RGB, in base64), with `image_name` (its URL as
/// given, or the row's id), `image_height`, `image_width` and `image_channels`, and with the split as a text.
/// What is there under such a name stays as it is.
/// \error kInvalidArgument  it has several images, or something else is called `image`
Result<Schema> in_tfrecorder_layout(Schema schema);

}  // namespace headrace

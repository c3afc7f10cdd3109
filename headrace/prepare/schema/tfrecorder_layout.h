#pragma once

/// \file The record layout of google/tensorflow-recorder 2.0.1: docs/how-to/from-tfrecorder.md.

#include "headrace/base/result.h"
#include "headrace/prepare/schema/schema.h"

namespace headrace {

/// Returns the schema with its image as `image` (raw pixels, grey or RGB, in base64). Adds `image_name` (the
/// file name from the image's URL or the row's id), `image_height`, `image_width`, `image_channels`, and the
/// split as a text. A feature that already has such a name is not changed.
/// \error kInvalidArgument  the schema has several images, or another feature is called `image`
Result<Schema> in_tfrecorder_layout(Schema schema);

}  // namespace headrace

#pragma once

/// \file Reads PNG with libpng. Internal: callers use `ImageDecoder`.

#include "headrace/codec/image/image_header.h"

namespace headrace {

/// Decodes a PNG, interlaced or not, to the channels that `header` gives, with 8 bits each: the upper 8 of 16
/// bits; fewer bits are scaled to the whole range. Gamma and colour profiles are not applied. Every chunk
/// that is used is compared with its checksum; texts, profiles and the frames of an animation are skipped.
/// `header` is the result of `read_image_header`. Leaves `out` undefined on errors.
/// \error kDataLoss           damaged or cut
/// \error kResourceExhausted  no memory
Status read_png(BytesView encoded, const ImageHeader& header, Image& out);

}  // namespace headrace

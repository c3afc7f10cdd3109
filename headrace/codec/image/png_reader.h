#pragma once

/// \file PNG by libpng. Internal: `ImageDecoder` is what callers use.

#include "headrace/codec/image/image_header.h"

namespace headrace {

/// Decodes into the channels that `header` says, 8 bits each: of 16 the upper 8, of fewer the whole range.
/// Interlaced or not. Gamma and colour profiles are not applied. Every chunk that is used is compared with
/// its checksum; texts, profiles and the frames of an animation are passed over. `header` is what
/// `read_image_header` has found. Leaves `out` undefined on errors.
/// \error kDataLoss           damaged or cut
/// \error kResourceExhausted  no memory
Status read_png(BytesView encoded, const ImageHeader& header, Image& out);

}  // namespace headrace

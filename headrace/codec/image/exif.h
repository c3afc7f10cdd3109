#pragma once

/// \file The one field of Exif that says how an image has to be rotated.

#include <cstdint>

#include "headrace/base/bytes.h"

namespace headrace {

/// The orientation in `tiff`, which is the TIFF structure after "Exif\0\0" in a JPEG or in the eXIf chunk of
/// a PNG: 1 to 8. Returns 1 if the orientation is missing or out of range, or the structure is damaged.
/// Source: TIFF 6.0, section 2.
std::uint32_t exif_orientation(BytesView tiff);

}  // namespace headrace

#pragma once

/// \file Pictures small enough to be part of a page.

#include <optional>

#include "headrace/base/bytes.h"

namespace headrace {

inline constexpr std::uint32_t kThumbnailSide = 96;
inline constexpr std::size_t kThumbnailBytes = 10'000;

/// Makes a JPEG of at most kThumbnailSide pixels a side and kThumbnailBytes. The aspect ratio is kept,
/// smaller pictures keep their size, and alpha is blended with white. Returns none if `encoded` is not a
/// picture, has more than 25 million pixels, or does not fit into kThumbnailBytes. Pure.
std::optional<Bytes> make_thumbnail(BytesView encoded);

}  // namespace headrace

#pragma once

/// \file Pictures small enough to stand in a page.

#include <optional>

#include "headrace/base/bytes.h"

namespace headrace {

inline constexpr std::uint32_t kThumbnailSide = 96;
inline constexpr std::size_t kThumbnailBytes = 10'000;

/// A JPEG of at most kThumbnailSide pixels a side and kThumbnailBytes, with the picture's ratio of sides;
/// smaller pictures stay as they are, alpha is blended with white. None if `encoded` is not a
/// picture, or has more than 25 million pixels. Pure.
std::optional<Bytes> make_thumbnail(BytesView encoded);

}  // namespace headrace

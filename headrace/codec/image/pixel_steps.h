#pragma once

/// \file The steps between a library's decoding and the requested pixels. Each step reads one picture and
/// writes another of the right size; they do not overlap.

#include <array>
#include <optional>

#include "headrace/codec/image/pixels.h"

namespace headrace {

using RgbColor = std::array<std::uint8_t, 3>;

/// Four inks (255: no ink) to RGB: each colour is the product of what its ink and black let through, rounded.
/// Where `is_inverted` is false, 0 is no ink.
void convert_cmyk(const PixelsView& from, bool is_inverted, const MutablePixelsView& to);

/// From 1 to 4 channels to 1 to 4. Grey becomes three equal colours; colour becomes grey by ITU-R BT.601,
/// (19,595 R + 38,470 G + 7,471 B + 32,768) / 65,536. Alpha that is not wanted is left out, or, with a
/// background, blended with it and rounded; alpha that is wanted and not there is opaque.
void convert_channels(const PixelsView& from, const std::optional<RgbColor>& background,
                      const MutablePixelsView& to);

/// Rotates and mirrors as Exif's orientation says. REQUIRES: the sizes fit, with sides swapped from 5 on.
void turn_upright(const PixelsView& from, std::uint32_t orientation, const MutablePixelsView& to);

}  // namespace headrace

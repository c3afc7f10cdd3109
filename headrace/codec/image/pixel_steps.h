#pragma once

/// \file The steps between a library's decoding and the requested pixels. Each step reads one picture and
/// writes another. REQUIRES: the target has the right size, and the two do not overlap.

#include <array>
#include <optional>

#include "headrace/codec/image/pixels.h"

namespace headrace {

using RgbColor = std::array<std::uint8_t, 3>;

/// Converts four inks to RGB. Each colour is the product of the light that its ink and black let through,
/// rounded. If `is_inverted`, 255 means no ink; otherwise 0 does.
void convert_cmyk(const PixelsView& from, bool is_inverted, const MutablePixelsView& to);

/// Converts between 1 to 4 channels. Grey becomes three equal colours; colour becomes grey by ITU-R BT.601,
/// (19,595 R + 38,470 G + 7,471 B + 32,768) / 65,536. If only `from` has alpha, the alpha is dropped or, with
/// a background, the colours are blended onto it and rounded. If only `to` has alpha, its alpha is opaque.
void convert_channels(const PixelsView& from, const std::optional<RgbColor>& background,
                      const MutablePixelsView& to);

/// Rotates and mirrors as Exif's orientation says. REQUIRES: the sizes are equal; for orientations of 5 and
/// more, with width and height exchanged.
void turn_upright(const PixelsView& from, std::uint32_t orientation, const MutablePixelsView& to);

}  // namespace headrace

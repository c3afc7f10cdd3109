#pragma once

/// \file Random changes of images. What is drawn is a pure function of seed, epoch and position, and a
/// format: docs/formats/augmentation.md defines it; tests/python/test_loader_images.py is an independent
/// implementation.

#include <cstdint>
#include <span>
#include <variant>

#include "headrace/codec/image/pixels.h"

namespace headrace {

/// Left and right change places, in half of all draws.
struct Flip {};

/// A part of this size, anywhere inside.
struct Crop {
  ImageSize size;
};

/// Adds one number to all samples, drawn between −delta and delta times 255.
struct Brightness {
  float delta = 0;  // 0 to 1
};

/// Multiplies the distance of all samples to their channel's mean, by a factor drawn in between.
struct Contrast {
  float lower = 1;  // 0 or above
  float upper = 1;  // lower or above
};

using Augmentation = std::variant<Flip, Crop, Brightness, Contrast>;

/// For which record something is drawn: its epoch, and its position within that, of all ranks.
struct DrawPosition {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
};

/// What the augmentation of that number, counted from 0, draws.
std::uint64_t augmentation_draw(std::uint64_t seed, const DrawPosition& at, std::uint64_t number);

/// Applies one after the other to pixels of 0 to 255, in place; a crop makes `pixels` a part of what it was.
/// Alpha is flipped and cropped, and else left as it is. REQUIRES: every crop fits
void augment(std::span<const Augmentation> augmentations, std::uint64_t seed, const DrawPosition& at,
             MutablePixelsView& pixels);
void augment(std::span<const Augmentation> augmentations, std::uint64_t seed, const DrawPosition& at,
             MutableFloatPixelsView& pixels);

}  // namespace headrace

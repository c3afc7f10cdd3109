#pragma once

/// \file Random changes of images. The random values depend only on seed, epoch and position, and are part of
/// a format: docs/formats/augmentation.md defines them; tests/python/test_loader_images.py is an independent
/// implementation.

#include <cstdint>
#include <span>
#include <variant>

#include "headrace/codec/image/pixels.h"

namespace headrace {

/// Flips half of the images from left to right.
struct Flip {};

/// Takes a part of this size, at a random place inside the image.
struct Crop {
  ImageSize size;
};

/// Adds the same random number to all samples: between −delta · 255 and delta · 255.
struct Brightness {
  float delta = 0;  // 0 to 1
};

/// Multiplies the difference between each sample and its channel's mean by a random factor in this range.
struct Contrast {
  float lower = 1;  // 0 or above
  float upper = 1;  // `lower` or above
};

using Augmentation = std::variant<Flip, Crop, Brightness, Contrast>;

/// The position of a record for which random values are drawn, counted over all ranks.
struct DrawPosition {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // within the epoch
};

/// The random value of the augmentation with this number, counted from 0.
std::uint64_t augmentation_draw(std::uint64_t seed, const DrawPosition& at, std::uint64_t number);

/// Applies the augmentations one after another to pixels of 0 to 255, in place. A crop makes `pixels` view a
/// part of the previous image. Alpha is flipped and cropped, but keeps its values. REQUIRES: every crop fits.
void augment(std::span<const Augmentation> augmentations, std::uint64_t seed, const DrawPosition& at,
             MutablePixelsView& pixels);
void augment(std::span<const Augmentation> augmentations, std::uint64_t seed, const DrawPosition& at,
             MutableFloatPixelsView& pixels);

}  // namespace headrace

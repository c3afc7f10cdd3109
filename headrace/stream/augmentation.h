#pragma once

/// \file Random changes of images. The random values are a pure function of seed, epoch and position, and a
/// format: docs/formats/augmentation.md defines it; tests/python/test_loader_images.py is an independent
/// implementation.

#include <cstdint>
#include <span>
#include <variant>

#include "headrace/codec/image/pixels.h"

namespace headrace {

/// Flips half of the images left to right.
struct Flip {};

/// A part of this size, anywhere inside.
struct Crop {
  ImageSize size;
};

/// Adds one number to all samples, drawn between −delta and delta times 255.
struct Brightness {
  float delta = 0;  // 0 to 1
};

/// Multiplies the distance of all samples from their channel's mean by a random factor in this range.
struct Contrast {
  float lower = 1;  // 0 or above
  float upper = 1;  // lower or above
};

using Augmentation = std::variant<Flip, Crop, Brightness, Contrast>;

/// The record that random values are for: its epoch, and its position within the epoch, over all ranks.
struct DrawPosition {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
};

/// The random value of the augmentation with that number, counted from 0.
std::uint64_t augmentation_draw(std::uint64_t seed, const DrawPosition& at, std::uint64_t number);

/// Applies the augmentations one after the other to pixels of 0 to 255, in place; a crop makes `pixels` a
/// part of the former image. Alpha is flipped and cropped, but keeps its values. REQUIRES: every crop fits
void augment(std::span<const Augmentation> augmentations, std::uint64_t seed, const DrawPosition& at,
             MutablePixelsView& pixels);
void augment(std::span<const Augmentation> augmentations, std::uint64_t seed, const DrawPosition& at,
             MutableFloatPixelsView& pixels);

}  // namespace headrace

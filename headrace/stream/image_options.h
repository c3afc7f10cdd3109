#pragma once

/// \file What becomes of columns that hold encoded images.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headrace/codec/image/image_decoder.h"
#include "headrace/codec/image/resize.h"
#include "headrace/stream/augmentation.h"
#include "headrace/stream/batch.h"

namespace headrace {

/// Every image is decoded, turned upright and resized: docs/images.md.
struct ImageColumn {
  ImageSize size;
  std::uint32_t channels = 3;  // as DecodeOptions has them; 1 to 4
  ResizeMethod method = ResizeMethod::kBilinear;
  /// Floats of 0 to 255, as `tf.image.resize` gives them; else they are rounded to 8 bits.
  bool is_float = false;
  /// JPEGs are decoded at the least scale that is not below `size`: faster, and other pixels.
  bool is_scaled = false;
  std::optional<RgbColor> background{};
  /// Of a picture as stored; one that declares more counts as damaged.
  std::uint64_t max_pixels = DecodeOptions().max_pixels;
};

struct ImageOptions {
  /// By name: columns of one byte string each, of which a batch holds the pixels.
  std::map<std::string, ImageColumn> columns{};
  /// Done to the resized image one after the other, in all of these columns alike.
  std::vector<Augmentation> augmentations{};
};

/// \error kInvalidArgument  an image that is not among `columns` as one byte string without a default; sizes
///                          or augmentations that there are not; a crop that is larger than what it is of;
///                          augmentations without an image
Status check_images(const ImageOptions& images, const std::vector<Column>& columns);

/// Of an image as it is in a batch: cropped.
ImageSize size_in_batch(const ImageColumn& column, const std::vector<Augmentation>& augmentations);

/// What a batch holds of each column. REQUIRES: check_images
std::vector<BatchColumn> batch_columns(const std::vector<Column>& columns, const ImageOptions& images);

}  // namespace headrace

#pragma once

/// \file Options for columns that hold encoded images.

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
  /// Floats of 0 to 255, as `tf.image.resize` gives them; otherwise they are rounded to 8 bits.
  bool is_float = false;
  /// Decode JPEGs at the smallest scale that is not below `size`: faster, but different pixels.
  bool is_scaled = false;
  std::optional<RgbColor> background{};
  /// Limit for the picture as stored; one that declares more counts as damaged.
  std::uint64_t max_pixels = DecodeOptions().max_pixels;
};

struct ImageOptions {
  /// Columns by name, each of one byte string; a batch holds their pixels.
  std::map<std::string, ImageColumn> columns{};
  /// Applied to the resized image one after the other, in all of these columns alike.
  std::vector<Augmentation> augmentations{};
};

/// \error kInvalidArgument  an image column that is not among `columns` as one byte string without a default;
///                          an invalid size or augmentation; a crop that is larger than its image;
///                          augmentations without an image
Status check_images(const ImageOptions& images, const std::vector<Column>& columns);

/// Size of the image in a batch: after cropping.
ImageSize size_in_batch(const ImageColumn& column, const std::vector<Augmentation>& augmentations);

/// The columns of a batch. REQUIRES: check_images
std::vector<BatchColumn> batch_columns(const std::vector<Column>& columns, const ImageOptions& images);

}  // namespace headrace

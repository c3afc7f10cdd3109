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

/// A column of images. Every image is decoded, turned upright and resized: docs/images.md.
struct ImageColumn {
  ImageSize size;
  std::uint32_t channels = 3;  // as in DecodeOptions; 1 to 4
  ResizeMethod method = ResizeMethod::kBilinear;
  /// True: floats from 0 to 255, as from `tf.image.resize`. False: they are rounded to 8 bits.
  bool is_float = false;
  /// True: decode JPEGs at the smallest scale that is not below `size`. Faster, but gives different pixels.
  bool is_scaled = false;
  std::optional<RgbColor> background{};  // as in DecodeOptions
  /// Limit for the picture as stored. A picture that declares more pixels counts as damaged.
  std::uint64_t max_pixels = DecodeOptions().max_pixels;
};

struct ImageOptions {
  /// Name → column. Each is a column of one byte string, for which a batch holds the pixels.
  std::map<std::string, ImageColumn> columns{};
  /// Applied to the resized image, one after another, in the same way in all of these columns.
  std::vector<Augmentation> augmentations{};
};

/// \error kInvalidArgument  an image column that is not among `columns` as one byte string without a default;
///                          an invalid size or augmentation; a crop that is larger than its image;
///                          augmentations without an image
Status check_images(const ImageOptions& images, const std::vector<Column>& columns);

/// The size of an image in a batch, after cropping.
ImageSize size_in_batch(const ImageColumn& column, const std::vector<Augmentation>& augmentations);

/// The columns of a batch, in the order of `columns`. REQUIRES: `check_images` accepts the arguments.
std::vector<BatchColumn> batch_columns(const std::vector<Column>& columns, const ImageOptions& images);

}  // namespace headrace

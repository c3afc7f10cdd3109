#pragma once

/// \file Checks images before they go into records, and converts them if the schema says so.

#include <cstdint>
#include <optional>

#include "headrace/base/bytes.h"
#include "headrace/codec/image/image_decoder.h"
#include "headrace/codec/image/resize.h"
#include "headrace/prepare/schema/image_steps.h"

namespace headrace {

struct ConvertedImage {
  BytesView data;  // the bytes to store
  /// Size of the stored image after its orientation has been applied.
  ImageSize size;
  std::uint32_t channels = 0;
};

/// Reuses its memory for the next image. Not thread-safe.
class ImageConverter {
 public:
  /// Applies `steps`. The result's data are `encoded` itself, or valid until the next call. If the image is
  /// kept as it is, only its header is checked, and every pixel too if `steps.verify` is set.
  /// \error kDataLoss           no bytes, damaged, cut off, or too short for the declared size
  /// \error kResourceExhausted  more than `max_pixels`, or not enough memory
  /// \error kUnimplemented      a format or kind that this reader does not support
  /// \error kInvalidArgument    not an image, or smaller than the crop
  Result<ConvertedImage> convert(BytesView encoded, const ImageSteps& steps);

 private:
  Result<PixelsView> pixels_of(BytesView encoded, const ImageHeader& header, const ImageSteps& steps);
  Result<ConvertedImage> store(const PixelsView& pixels, const ImageSteps& steps);

  ImageDecoder decoder_;
  Resizer resizer_;
  Image decoded_;
  Image resized_;
  Bytes stored_;
};

}  // namespace headrace

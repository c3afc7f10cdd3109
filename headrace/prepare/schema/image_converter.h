#pragma once

/// \file Images on their way into records: checked, and changed if the schema says so.

#include <cstdint>
#include <optional>

#include "headrace/base/bytes.h"
#include "headrace/codec/image/image_decoder.h"
#include "headrace/codec/image/resize.h"
#include "headrace/prepare/schema/image_steps.h"

namespace headrace {

struct ConvertedImage {
  BytesView data;  // what is stored
  /// Of what is stored, as it is looked at: after turning.
  ImageSize size;
  std::uint32_t channels = 0;
};

/// Keeps its memory from one image to the next. One thread at a time.
class ImageConverter {
 public:
  /// The data are `encoded` itself, or valid until the next call. Of an image that is kept as it is, the
  /// header is checked, and with `verify` every pixel.
  /// \error kDataLoss           no bytes, damaged, cut, or too short for the size that is declared
  /// \error kResourceExhausted  more than `max_pixels`, or no memory
  /// \error kUnimplemented      a format or kind that is not read here
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

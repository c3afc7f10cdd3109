#pragma once

/// \file Decodes images to pixels. The rules for each kind of image: docs/images.md.

#include <array>
#include <cstdint>
#include <optional>

#include "headrace/base/bytes.h"
#include "headrace/codec/image/image_header.h"
#include "headrace/codec/image/jpeg_reader.h"
#include "headrace/codec/image/pixel_steps.h"

namespace headrace {

struct DecodeOptions {
  /// 1 grey, 2 grey with alpha, 3 RGB, 4 RGB with alpha; 0: the number in the header.
  std::uint32_t channels = 0;
  /// The background onto which alpha is blended if it was not requested. None: alpha is dropped, as in Pillow
  /// and TensorFlow.
  std::optional<RgbColor> background;
  /// True: rotate and mirror the image as Exif says.
  bool is_upright = true;
  /// If set, a JPEG may be decoded at a smaller size: the smallest of 1, 2, 4 and 8 eighths at which neither
  /// side is below this size, after rotation. Faster, but gives other pixels than decoding at full size and
  /// resizing.
  std::optional<ImageSize> at_least;
  /// Limit for the declared size, checked before memory is allocated.
  std::uint64_t max_pixels = 100'000'000;
};

/// The most memory that decoding a picture with this header to `channels` channels takes. Includes its
/// pixels, but not the working memory for a few rows. REQUIRES: the declared size has been compared with a
/// limit.
std::uint64_t decode_memory_bytes(const ImageHeader& header, std::uint32_t channels);

/// Decodes JPEG and PNG. The same bytes, options and library versions give the same pixels. Reuse one decoder
/// for many images: it allocates memory for pixels only when an image is larger than all before. Memory:
/// `out` and, if a picture is rotated or its channels change, as much again; for a progressive JPEG, up to
/// eight bytes per pixel while it is decoded. Not thread-safe.
class ImageDecoder {
 public:
  /// Decodes an image into `out`. On errors `out` has no pixels, never a part of an image.
  /// \error kDataLoss           no bytes, damaged, cut, or too short for the declared size
  /// \error kResourceExhausted  the header declares more than `max_pixels`, or no memory
  /// \error kUnimplemented      a format or kind that is not supported; the message names it
  /// \error kInvalidArgument    not an image, or `channels` is above 4
  Status decode(BytesView encoded, const DecodeOptions& options, Image& out);

 private:
  Status decode_upright(BytesView encoded, const DecodeOptions& options, Image& out);
  Status decode_jpeg(BytesView encoded, const ImageHeader& header, const DecodeOptions& options, Image& out);
  Status set_channels(std::uint32_t channels, const std::optional<RgbColor>& background, Image& out);

  JpegReader jpeg_;
  Image spare_;
};

}  // namespace headrace

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
  /// 1 grey, 3 RGB, 2 and 4 the same with alpha; 0: the header's number.
  std::uint32_t channels = 0;
  /// Background for blending alpha that was not requested; none: alpha is dropped, as in Pillow and
  /// TensorFlow.
  std::optional<RgbColor> background;
  /// Rotate and mirror as Exif says.
  bool is_upright = true;
  /// If set, a JPEG may be decoded smaller: to the smallest of 1, 2, 4 and 8 eighths at which neither side is
  /// below this, after rotation. Fast, but with other pixels than decoding at full size and resizing.
  std::optional<ImageSize> at_least;
  /// Limit for the declared size, compared before memory is taken.
  std::uint64_t max_pixels = 100'000'000;
};

/// The most memory that decoding a picture with that header to that many channels takes, its pixels included,
/// except working memory for some of its rows. REQUIRES: the declared size has been compared with a limit
std::uint64_t decode_memory_bytes(const ImageHeader& header, std::uint32_t channels);

/// Decodes JPEG and PNG. The same bytes, options and library versions give the same pixels. Reuse it for many
/// images: memory for pixels is taken only when an image is larger than all before. Memory: `out` and, if a
/// picture is rotated or its channels change, as much again; for a progressive JPEG, up to eight bytes a
/// pixel while it is decoded. One thread at a time.
class ImageDecoder {
 public:
  /// On errors `out` has no pixels: never a part of an image.
  /// \error kDataLoss           no bytes, damaged, cut, or too short for the size that is declared
  /// \error kResourceExhausted  more than `max_pixels` are declared, or no memory
  /// \error kUnimplemented      a format or kind that is not read here, named in the message
  /// \error kInvalidArgument    not an image; or no such number of channels
  Status decode(BytesView encoded, const DecodeOptions& options, Image& out);

 private:
  Status decode_upright(BytesView encoded, const DecodeOptions& options, Image& out);
  Status decode_jpeg(BytesView encoded, const ImageHeader& header, const DecodeOptions& options, Image& out);
  Status set_channels(std::uint32_t channels, const std::optional<RgbColor>& background, Image& out);

  JpegReader jpeg_;
  Image spare_;
};

}  // namespace headrace

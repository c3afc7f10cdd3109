#pragma once

/// \file Encoded images to pixels. What is right for each kind of image: docs/images.md.

#include <array>
#include <cstdint>
#include <optional>

#include "headrace/base/bytes.h"
#include "headrace/codec/image/image_header.h"
#include "headrace/codec/image/jpeg_reader.h"
#include "headrace/codec/image/pixel_steps.h"

namespace headrace {

struct DecodeOptions {
  /// 1 grey, 3 RGB, 2 and 4 the same with alpha; 0 as the header says.
  std::uint32_t channels = 0;
  /// What alpha that is not wanted is blended with; without, alpha is left out, as Pillow and TensorFlow do.
  std::optional<RgbColor> background;
  /// Turned and mirrored as Exif says.
  bool is_upright = true;
  /// If set, a JPEG may be decoded smaller: to the least of 1, 2, 4 and 8 eighths at which neither side is
  /// below this, after turning. Fast, and not what decoding at full size and resizing gives.
  std::optional<ImageSize> at_least;
  /// Of the picture as declared, compared before memory is taken.
  std::uint64_t max_pixels = 100'000'000;
};

/// At most what decoding a picture of that header to so many channels takes, its pixels included, but for
/// working memory for some of its rows. REQUIRES: the declared size has been compared with a limit
std::uint64_t decode_memory_bytes(const ImageHeader& header, std::uint32_t channels);

/// Decodes JPEG and PNG. The same bytes, options and library versions give the same pixels. Keep one for many
/// images: memory for pixels is taken only when an image is larger than those before. Memory: `out` and,
/// where a picture is turned or its channels changed, as much again; of a progressive JPEG, up to eight bytes
/// a pixel while it is decoded. One thread at a time.
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

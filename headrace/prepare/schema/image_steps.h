#pragma once

/// \file What is done to images on their way into records.

#include <cstdint>
#include <optional>

#include "headrace/codec/image/pixel_steps.h"
#include "headrace/codec/image/pixels.h"
#include "headrace/codec/image/resize.h"

namespace headrace {

/// kRawBase64: the bytes of kRaw in base64 for URLs and file names (RFC 4648, section 5), padded.
enum class ImageOutput : std::uint8_t { kAsIs, kJpeg, kPng, kRaw, kRawBase64 };

/// What is done to an image, in this order: decode, resize, crop, encode.
struct ImageSteps {
  std::optional<ImageSize> resize;
  ResizeMethod method = ResizeMethod::kBilinear;
  std::optional<ImageSize> crop;  // the middle
  std::uint32_t channels = 0;     // 0: as stored; of kJpeg and kRawBase64, without alpha
  std::optional<RgbColor> background;
  ImageOutput output = ImageOutput::kAsIs;
  int quality = 90;     // of JPEG
  bool verify = false;  // every pixel, also of an image that is kept as it is
  std::uint64_t max_pixels = 100'000'000;

  /// Whether pixels are needed.
  bool decodes() const { return verify || output != ImageOutput::kAsIs; }
};

}  // namespace headrace

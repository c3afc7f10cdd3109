#pragma once

/// \file The steps that convert an image before it goes into a record.

#include <cstdint>
#include <optional>

#include "headrace/codec/image/pixel_steps.h"
#include "headrace/codec/image/pixels.h"
#include "headrace/codec/image/resize.h"

namespace headrace {

/// kRawBase64: the bytes of kRaw in base64 for URLs and file names (RFC 4648, section 5), padded.
enum class ImageOutput : std::uint8_t { kAsIs, kJpeg, kPng, kRaw, kRawBase64 };

/// Conversion of an image, in this order: decode, resize, crop, encode.
struct ImageSteps {
  std::optional<ImageSize> resize;
  ResizeMethod method = ResizeMethod::kBilinear;
  std::optional<ImageSize> crop;  // the size of the middle part that is kept
  std::uint32_t channels = 0;     // 0: as stored, but without alpha for kJpeg and kRawBase64
  std::optional<RgbColor> background;
  ImageOutput output = ImageOutput::kAsIs;
  int quality = 90;     // of JPEG
  bool verify = false;  // decode every pixel, even if the image is kept as it is
  std::uint64_t max_pixels = 100'000'000;

  /// True if the image must be decoded.
  bool decodes() const { return verify || output != ImageOutput::kAsIs; }
};

}  // namespace headrace

#pragma once

/// \file Images for tests, including kinds that our encoders do not write. Odd PNGs are written by hand, odd
/// JPEGs by libjpeg, which ends the program on errors.

#include <string>
#include <type_traits>
#include <vector>

#include "headrace/codec/image/image_encoder.h"

namespace headrace {

/// A picture without edges, which depends only on the size and the channels.
Image smooth_image(ImageSize size, std::uint32_t channels);
Image image_of(ImageSize size, std::uint32_t channels, const std::vector<std::uint8_t>& samples);

/// All samples, row after row.
template <typename Sample>
std::vector<std::remove_const_t<Sample>> samples_of(const Pixels<Sample>& pixels) {
  std::vector<std::remove_const_t<Sample>> samples;
  for (std::size_t y = 0; y < pixels.size.height; ++y)
    samples.insert(samples.end(), pixels.row(y), pixels.row(y) + pixels.row_samples());
  return samples;
}

struct PngKind {
  ImageSize size;
  int bits = 8;
  int color_type = 0;
  bool is_interlaced = false;
};

std::string png_chunk(const std::string& type, const std::string& data);
/// Each row in `rows` begins with its filter byte. `between` holds chunks that come before the data.
Bytes make_png(const PngKind& kind, const std::string& rows, const std::string& between = "");
/// The rows of the seven pictures that make up an interlaced one (PNG specification, section 8.2).
std::string interlaced_rows(const PixelsView& pixels);

enum class JpegColors : std::uint8_t { kYcc, kCmyk, kYcck };
enum class JpegScans : std::uint8_t { kOne, kOneForEachComponent, kProgressive };

struct JpegKind {
  JpegColors colors = JpegColors::kYcc;
  JpegScans scans = JpegScans::kOne;
  bool has_adobe_marker = false;
};

/// Encodes RGB, or CMYK in the form in which it is stored.
Bytes make_jpeg(const PixelsView& pixels, const JpegKind& kind);

/// A TIFF structure with one entry.
std::string make_exif(std::uint16_t orientation, bool is_little_endian);
/// The JPEG with Exif after its first two bytes.
Bytes with_exif(const Bytes& jpeg, const std::string& exif);

}  // namespace headrace

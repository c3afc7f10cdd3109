#pragma once

/// \file The header of an encoded image. Sources: ITU-T T.81 (JPEG), Exif 2.32 section 4.6, the PNG
/// specification (W3C, third edition).

#include <cstdint>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/codec/image/pixels.h"

namespace headrace {

enum class ImageFormat : std::uint8_t { kJpeg, kPng };

/// "JPEG", "PNG".
std::string_view image_format_name(ImageFormat format);

struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  /// The size as stored, before rotation.
  ImageSize size;
  /// The number of channels that decoding gives by default: grey 1, grey with alpha 2, colour 3, colour with
  /// alpha 4. A palette counts as colour, and so does CMYK.
  std::uint32_t channels = 0;
  /// Bits per stored sample: 8; in a PNG also 1, 2, 4 and 16.
  std::uint32_t bits = 8;
  /// Exif's orientation: 1 is upright, 2 to 8 say how to rotate and mirror. 1 if it is missing or invalid.
  std::uint32_t orientation = 1;
  /// Properties of a JPEG: it has four inks instead of colours; it has several scans over the picture, as a
  /// progressive JPEG does. Both take more memory to decode.
  bool is_cmyk = false;
  bool has_several_scans = false;
};

/// True if width and height are exchanged when the image is turned upright.
inline bool swaps_sides(std::uint32_t orientation) { return orientation >= 5; }

/// Reads everything before the pixels. In a PNG, also reads an eXIf chunk after them, if `encoded` extends
/// that far. Decodes and allocates nothing, so what the header declares may be false.
/// \error kDataLoss         no bytes, truncated before the pixels begin, or damaged
/// \error kUnimplemented    a known format, or a kind of JPEG, that is not supported; the message names it
/// \error kInvalidArgument  not an image
Result<ImageHeader> read_image_header(BytesView encoded);

/// Compares the declared size with a limit, and with the fewest bytes that so many pixels can take in the
/// format (JPEG: one byte for 2,048 pixels; PNG: one byte for 1,032 bytes of rows).
/// \error kResourceExhausted  more pixels than `max_pixels`
/// \error kDataLoss           the file is too short for that many pixels
Status check_declared_size(const ImageHeader& header, std::uint64_t encoded_bytes, std::uint64_t max_pixels);

}  // namespace headrace

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
  /// As stored: before rotation.
  ImageSize size;
  /// Channels of decoding by default: grey 1, grey with alpha 2, colour 3, colour with alpha 4. A palette is
  /// colour, and so is CMYK.
  std::uint32_t channels = 0;
  /// Bits of a stored sample: 8; in a PNG also 1, 2, 4 and 16.
  std::uint32_t bits = 8;
  /// Exif's: 1 is upright, 2 to 8 say how to rotate and mirror; 1 if it is missing or invalid.
  std::uint32_t orientation = 1;
  /// Properties of a JPEG: four inks instead of colours; several scans over the picture, as a progressive
  /// JPEG has. Both take more memory to decode.
  bool is_cmyk = false;
  bool has_several_scans = false;
};

/// Whether width and height change places when the image is turned upright.
inline bool swaps_sides(std::uint32_t orientation) { return orientation >= 5; }

/// Reads everything before the pixels; in a PNG also an eXIf chunk after them, if `encoded` extends that far.
/// Takes no memory, and nothing is decoded: the header may lie.
/// \error kDataLoss         no bytes, truncated before the pixels begin, or damaged
/// \error kUnimplemented    a known format, or a kind of JPEG, that is not supported; named in the message
/// \error kInvalidArgument  not an image
Result<ImageHeader> read_image_header(BytesView encoded);

/// Compares the declared size with a limit, and with the smallest number of bytes that this many pixels take
/// in the format (JPEG: a byte for 2,048 pixels; PNG: a byte for 1,032 of deflated rows).
/// \error kResourceExhausted  more pixels than `max_pixels`
/// \error kDataLoss           the file is too short for that many pixels
Status check_declared_size(const ImageHeader& header, std::uint64_t encoded_bytes, std::uint64_t max_pixels);

}  // namespace headrace

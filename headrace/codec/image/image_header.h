#pragma once

/// \file What an encoded image says of itself. Sources: ITU-T T.81 (JPEG), Exif 2.32 section 4.6, the PNG
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
  /// As stored: before it is turned upright.
  ImageSize size;
  /// What decoding gives where nothing else is asked: grey 1, grey with alpha 2, colour 3, colour with alpha
  /// 4. A palette is colour, and so is CMYK.
  std::uint32_t channels = 0;
  /// Of a sample, as stored: 8; in a PNG also 1, 2, 4 and 16.
  std::uint32_t bits = 8;
  /// Exif's: 1 is upright, 2 to 8 say how to turn and mirror; 1 where nothing is said or it makes no sense.
  std::uint32_t orientation = 1;
  /// Of a JPEG: four inks instead of colours, and pixels that come in several passes over the picture, as
  /// those of a progressive one do. Both take more memory to decode.
  bool is_cmyk = false;
  bool has_several_scans = false;
};

/// Whether width and height change places when the image is turned upright.
inline bool swaps_sides(std::uint32_t orientation) { return orientation >= 5; }

/// Reads what comes before the pixels; of a PNG also an eXIf chunk after them, if `encoded` reaches so far.
/// Takes no memory, and nothing is decoded: the header may lie.
/// \error kDataLoss         no bytes, cut before the pixels begin, or damaged
/// \error kUnimplemented    a known format, or a kind of JPEG, that is not read here; named in the message
/// \error kInvalidArgument  not an image
Result<ImageHeader> read_image_header(BytesView encoded);

/// Compares the size that a header declares with a limit, and with the least bytes that so many pixels take
/// in that format (JPEG: a byte for 2,048 pixels; PNG: a byte for 1,032 of deflated rows).
/// \error kResourceExhausted  more pixels than `max_pixels`
/// \error kDataLoss           the file is too short to have them
Status check_declared_size(const ImageHeader& header, std::uint64_t encoded_bytes, std::uint64_t max_pixels);

}  // namespace headrace

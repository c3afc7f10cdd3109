#pragma once

/// \file Encodes pixels to JPEG and PNG. The same pixels, options and library version give the same bytes; no
/// time or name is included.

#include <cstdint>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/codec/image/pixels.h"

namespace headrace {

/// How many pixels share a chroma sample: one (k444), two side by side (k422), or two by two (k420).
enum class ChromaSubsampling : std::uint8_t { k444, k422, k420 };

struct JpegOptions {
  int quality = 90;  // 1 to 100
  ChromaSubsampling subsampling = ChromaSubsampling::k420;
};

/// Appends a baseline JPEG to `out`, with the standard Huffman tables and the accurate integer transform.
/// \error kInvalidArgument    the quality is out of range, a side is 0 or above 65,500, or there are not 1 or
///                            3 channels: JPEG has no alpha
/// \error kResourceExhausted  no memory
Status encode_jpeg(const PixelsView& pixels, const JpegOptions& options, Bytes& out);

/// Appends a PNG with 8 bits per sample to `out`: grey, grey with alpha, RGB or RGBA. `level` is zlib's, 1 to
/// 9.
/// \error kInvalidArgument    the level is out of range, a side is 0, or there are not 1 to 4 channels
/// \error kResourceExhausted  no memory
Status encode_png(const PixelsView& pixels, int level, Bytes& out);

/// Names everything, besides pixels and options, on which the encoded bytes depend: "libjpeg-turbo 2.1.5,
/// libpng 1.6.39, zlib 1.2.13". Part of a plan.
std::string image_encoder_fingerprint();

}  // namespace headrace

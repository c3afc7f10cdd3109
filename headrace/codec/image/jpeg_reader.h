#pragma once

/// \file Reads JPEG with libjpeg-turbo. Internal: callers use `ImageDecoder`.

#include <memory>

#include "headrace/codec/image/image_header.h"

namespace headrace {

/// The most scans that a progressive file may have. Encoders write up to about twenty. Each scan costs a pass
/// over the whole picture, however few bytes it has.
inline constexpr int kMaxJpegScans = 64;

struct JpegState;

/// Keeps libjpeg-turbo's tables from picture to picture, and frees memory that depends on a picture's size
/// after each one. Not thread-safe.
class JpegReader {
 public:
  JpegReader();
  JpegReader(JpegReader&&) noexcept;
  JpegReader& operator=(JpegReader&&) noexcept;
  ~JpegReader();

  enum class Layout : std::uint8_t { kGrey, kRgb, kCmyk, kInvertedCmyk };

  /// Decodes to `eighths` / 8 of the size, rounded up, with the accurate integer transform and smooth chroma;
  /// `eighths` is 1, 2, 4 or 8. `wants_grey` gives the luminance of a colour picture; CMYK keeps its four
  /// channels. `header` is the result of `read_image_header`. Leaves `out` undefined on errors.
  /// \error kDataLoss           damaged or cut. Anything that libjpeg would repair counts as damage, except
  ///                            bytes between segments and odd version numbers
  /// \error kResourceExhausted  no memory
  /// \error kUnimplemented      the picture needs a feature that libjpeg-turbo was built without
  Result<Layout> read(BytesView encoded, const ImageHeader& header, bool wants_grey, std::uint32_t eighths,
                      Image& out);

 private:
  std::unique_ptr<JpegState> state_;
};

}  // namespace headrace

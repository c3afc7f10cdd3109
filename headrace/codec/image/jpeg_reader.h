#pragma once

/// \file JPEG by libjpeg-turbo. Internal: `ImageDecoder` is what callers use.

#include <memory>

#include "headrace/codec/image/image_header.h"

namespace headrace {

/// A progressive file may have this many scans; encoders write up to about twenty. Each costs a pass over the
/// whole picture, however few bytes it has.
inline constexpr int kMaxJpegScans = 64;

struct JpegState;

/// Keeps libjpeg-turbo's tables from picture to picture; memory that depends on the picture's size is freed
/// after each. One thread at a time.
class JpegReader {
 public:
  JpegReader();
  JpegReader(JpegReader&&) noexcept;
  JpegReader& operator=(JpegReader&&) noexcept;
  ~JpegReader();

  enum class Layout : std::uint8_t { kGrey, kRgb, kCmyk, kInvertedCmyk };

  /// Decodes `eighths` / 8 (1, 2, 4 or 8) of the size, rounded up, by the accurate integer transform and with
  /// smooth chroma. `wants_grey` takes the luminance of a colour picture; CMYK stays as it is.
  /// `header` is what `read_image_header` has found. Leaves `out` undefined on errors.
  /// \error kDataLoss           damaged or cut; anything that libjpeg would repair is, but for bytes between
  ///                            segments, and odd version numbers
  /// \error kResourceExhausted  no memory
  /// \error kUnimplemented      what libjpeg-turbo was built without
  Result<Layout> read(BytesView encoded, const ImageHeader& header, bool wants_grey, std::uint32_t eighths,
                      Image& out);

 private:
  std::unique_ptr<JpegState> state_;
};

}  // namespace headrace

#pragma once

/// \file Resizing as `tf.image.resize` does it, with antialias=False. Sources: TensorFlow's kernels
/// ResizeBilinear (half_pixel_centers) and ResizeArea; docs/images.md has the formulas.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/codec/image/bilinear_kernel.h"
#include "headrace/codec/image/pixels.h"

namespace headrace {

enum class ResizeMethod : std::uint8_t {
  kBilinear,  // of the four pixels around the point; where an image shrinks, others are passed over
  kArea,      // the mean of all that a pixel covers, those at its edges in part
};

/// "bilinear", "area".
std::string_view resize_method_name(ResizeMethod method);

/// Keeps the weights of columns, and computes them again when widths change: reuse one for many images. To 8
/// bits, or to float in 0 to 255. 8-bit results are the float results rounded half up; bilinear ones with an
/// error of at most 1 / 50 before rounding, because integers are faster. One thread at a time.
class Resizer {
 public:
  /// To the size that `to` has. `from` may be a crop; `to` lies elsewhere.
  /// \error kInvalidArgument  a side is 0, or the channels differ or are not 1 to 4
  Status resize(const PixelsView& from, ResizeMethod method, const MutablePixelsView& to);
  Status resize(const PixelsView& from, ResizeMethod method, const MutableFloatPixelsView& to);

 private:
  /// Two rows of as many samples that a row comes from, and how much of it from the lower one.
  struct SourceRows {
    const std::uint8_t* top;
    const std::uint8_t* bottom;
    std::size_t samples;
    float bottom_part;
  };
  /// A run of pixels, which weights in `area_weights_` belong to.
  struct Stretch {
    std::size_t begin = 0;
    std::uint32_t count = 0;
    std::size_t weights = 0;
  };

  template <typename Sample>
  Status resize_to(const PixelsView& from, ResizeMethod method, const Pixels<Sample>& to);
  template <typename Sample>
  void bilinear(const PixelsView& from, const Pixels<Sample>& to);
  template <std::size_t kChannels, typename Sample>
  void bilinear(const PixelsView& from, const Pixels<Sample>& to);
  template <std::size_t kChannels>
  void bilinear_row(const SourceRows& from, std::span<float> to) const;
  template <std::size_t kChannels>
  void bilinear_row(const SourceRows& from, std::span<std::uint8_t> to);
  template <typename Sample>
  void area(const PixelsView& from, const Pixels<Sample>& to);
  void set_columns(const PixelsView& from, ResizeMethod method, std::uint32_t to_width);

  ResizeMethod method_ = ResizeMethod::kBilinear;
  std::uint32_t from_width_ = 0, to_width_ = 0, channels_ = 0;  // what the columns below are for
  std::vector<Neighbours> neighbours_;
  std::vector<SideParts> side_parts_;
  std::vector<std::int16_t> blended_row_;
  std::vector<Stretch> stretches_;
  std::vector<float> area_weights_;
  std::vector<float> row_sums_;
};

}  // namespace headrace

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
  kBilinear,  // blends the four pixels around the point; when an image shrinks, other pixels are skipped
  kArea,      // the mean of all pixels that a pixel covers, weighted by the covered part
};

/// "bilinear" or "area".
std::string_view resize_method_name(ResizeMethod method);

/// Resizes to 8 bits, or to floats from 0 to 255. An 8-bit result is the float result rounded half up; a
/// bilinear one has an error of at most 1 / 50 before rounding, because integers are faster. Reuse one
/// resizer for many images: it keeps the weights of the columns until the widths change. Not thread-safe.
class Resizer {
 public:
  /// Resizes `from`, which may be a crop, to the size of `to`. The two must not overlap.
  /// \error kInvalidArgument  a side is 0, or the channels differ or are not 1 to 4
  Status resize(const PixelsView& from, ResizeMethod method, const MutablePixelsView& to);
  Status resize(const PixelsView& from, ResizeMethod method, const MutableFloatPixelsView& to);

 private:
  /// The two source rows of a row, of `samples` samples each, and the lower row's weight.
  struct SourceRows {
    const std::uint8_t* top;
    const std::uint8_t* bottom;
    std::size_t samples;
    float bottom_part;
  };
  /// A run of pixels. Its weights begin at `weights` in `area_weights_`.
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
  std::uint32_t from_width_ = 0, to_width_ = 0, channels_ = 0;  // those of the columns below
  std::vector<Neighbours> neighbours_;
  std::vector<SideParts> side_parts_;
  std::vector<std::int16_t> blended_row_;
  std::vector<Stretch> stretches_;
  std::vector<float> area_weights_;
  std::vector<float> row_sums_;
};

}  // namespace headrace

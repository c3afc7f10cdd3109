#include "headrace/codec/image/pixel_steps.h"

#include <algorithm>
#include <cstring>

#include "headrace/codec/image/image_header.h"

namespace headrace {
namespace {

constexpr std::uint32_t kOpaque = 255;

// a · b / 255, rounded.
std::uint8_t scale(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint8_t>((a * b + kOpaque / 2) / kOpaque);
}

std::uint8_t blend(std::uint32_t color, std::uint32_t alpha, std::uint32_t background) {
  const std::uint32_t sum = color * alpha + background * (kOpaque - alpha);
  return static_cast<std::uint8_t>((sum + kOpaque / 2) / kOpaque);
}

std::uint8_t grey_of(const RgbColor& color) {
  return static_cast<std::uint8_t>((19595U * color[0] + 38470U * color[1] + 7471U * color[2] + 32768U) >> 16);
}

// Calls `step(from, to)` for each pixel.
template <typename Step>
void for_each_pixel(const PixelsView& from, const MutablePixelsView& to, const Step& step) {
  for (std::size_t y = 0; y < to.size.height; ++y) {
    const std::uint8_t* source = from.row(y);
    std::uint8_t* target = to.row(y);
    for (std::size_t x = 0; x < to.size.width; ++x, source += from.channels, target += to.channels)
      step(source, target);
  }
}

}  // namespace

void convert_cmyk(const PixelsView& from, bool is_inverted, const MutablePixelsView& to) {
  const std::uint8_t flip = is_inverted ? 0 : 255;
  for_each_pixel(from, to, [flip](const std::uint8_t* inks, std::uint8_t* color) {
    const std::uint32_t black = inks[3] ^ flip;
    for (int i = 0; i < 3; ++i) color[i] = scale(inks[i] ^ flip, black);
  });
}

void convert_channels(const PixelsView& from, const std::optional<RgbColor>& background,
                      const MutablePixelsView& to) {
  const bool is_color = from.channels >= 3, has_alpha = from.channels % 2 == 0;
  const bool wants_color = to.channels >= 3, wants_alpha = to.channels % 2 == 0;
  const bool is_blended = background && has_alpha && !wants_alpha;
  for_each_pixel(from, to, [&](const std::uint8_t* source, std::uint8_t* target) {
    RgbColor color = {source[0], source[is_color ? 1 : 0], source[is_color ? 2 : 0]};
    const std::uint8_t alpha = has_alpha ? source[from.channels - 1] : kOpaque;
    if (is_blended) {
      for (std::size_t i = 0; i < 3; ++i) color[i] = blend(color[i], alpha, (*background)[i]);
    }
    if (wants_color) {
      std::ranges::copy(color, target);
    } else {
      target[0] = is_color || is_blended ? grey_of(color) : color[0];
    }
    if (wants_alpha) target[to.channels - 1] = alpha;
  });
}

void turn_upright(const PixelsView& from, std::uint32_t orientation, const MutablePixelsView& to) {
  // The position of the upright image's first pixel, and the distances to its next column and next row.
  const bool is_mirrored = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool is_upside_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const auto channels = static_cast<std::ptrdiff_t>(from.channels);
  const auto stride = static_cast<std::ptrdiff_t>(from.row_stride);
  std::ptrdiff_t column_step = is_mirrored ? -channels : channels;
  std::ptrdiff_t row_step = is_upside_down ? -stride : stride;
  const std::uint8_t* first = from.data;
  if (is_mirrored) first += (from.size.width - 1) * channels;
  if (is_upside_down) first += (from.size.height - 1) * stride;
  if (swaps_sides(orientation)) std::swap(column_step, row_step);
  for (std::size_t y = 0; y < to.size.height; ++y) {
    const std::uint8_t* source = first + static_cast<std::ptrdiff_t>(y) * row_step;
    std::uint8_t* target = to.row(y);
    for (std::size_t x = 0; x < to.size.width; ++x, source += column_step, target += channels)
      std::memcpy(target, source, from.channels);
  }
}

}  // namespace headrace

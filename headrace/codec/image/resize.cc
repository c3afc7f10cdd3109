#include "headrace/codec/image/resize.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// TensorFlow computes positions in float. This code does the same, to get the same neighbours.
float ratio(std::uint32_t from, std::uint32_t to) {
  return static_cast<float>(from) / static_cast<float>(to);
}

struct Neighbourhood {
  std::uint32_t lower;
  std::uint32_t upper;
  float upper_weight;
};

// The pixel at a position, limited to the image: on very long sides, float skips whole numbers and may exceed
// the size.
std::uint32_t pixel_at(float place, std::uint32_t size) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max(place, 0.0F)), size - 1));
}

// The neighbours of the centre of pixel `to`, as pixels of the source.
Neighbourhood neighbourhood(std::uint32_t to, float scale, std::uint32_t size) {
  const float place = (static_cast<float>(to) + 0.5F) * scale - 0.5F;
  const float below = std::floor(place);
  return {pixel_at(below, size), pixel_at(std::ceil(place), size), place - below};
}

// The part of the source that pixel `to` covers: the pixels from `begin` to `end` - 1, and how much of each.
struct Coverage {
  std::uint32_t begin;
  std::uint32_t end;
  float from, to, length;

  float weight(std::uint32_t at) const {
    const auto pixel = static_cast<float>(at);
    const bool begins_before = pixel < from;
    const bool ends_after = pixel + 1 > to;
    if (begins_before) return ends_after ? length : pixel + 1 - from;
    return ends_after ? to - pixel : 1;
  }
};

Coverage coverage(std::uint32_t to, float scale, std::uint32_t size) {
  const float from = static_cast<float>(to) * scale;
  const float end = static_cast<float>(to + 1) * scale;
  const std::uint32_t first = pixel_at(from, size);
  return {first, std::max(first, pixel_at(std::ceil(end) - 1, size)) + 1, from, end, scale};
}

void store(float value, float* to) { *to = value; }
void store(float value, std::uint8_t* to) {
  *to = static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

}  // namespace

std::string_view resize_method_name(ResizeMethod method) {
  return method == ResizeMethod::kArea ? "area" : "bilinear";
}

Status Resizer::resize(const PixelsView& from, ResizeMethod method, const MutablePixelsView& to) {
  return resize_to(from, method, to);
}

Status Resizer::resize(const PixelsView& from, ResizeMethod method, const MutableFloatPixelsView& to) {
  return resize_to(from, method, to);
}

template <typename Sample>
Status Resizer::resize_to(const PixelsView& from, ResizeMethod method, const Pixels<Sample>& to) {
  const auto is_empty = [](ImageSize size) { return size.width == 0 || size.height == 0; };
  if (is_empty(from.size) || is_empty(to.size))
    return Error{Code::kInvalidArgument,
                 "an image without pixels can be neither the source nor the result of resizing"};
  if (from.channels != to.channels || from.channels == 0 || from.channels > Image::kMaxChannels) {
    return Error{Code::kInvalidArgument, concat("an image of ", from.channels,
                                                " channels cannot be resized into one of ", to.channels)};
  }
  set_columns(from, method, to.size.width);
  if (method == ResizeMethod::kBilinear) {
    blended_row_.resize(std::max(blended_row_.size(), from.row_samples() + kRowPadding));
    bilinear(from, to);
  } else {
    area(from, to);
  }
  return {};
}

void Resizer::set_columns(const PixelsView& from, ResizeMethod method, std::uint32_t to_width) {
  const std::uint32_t width = from.size.width, channels = from.channels;
  if (method == method_ && width == from_width_ && to_width == to_width_ && channels == channels_) return;
  method_ = method, from_width_ = width, to_width_ = to_width, channels_ = channels;
  const float scale = ratio(width, to_width);
  neighbours_.clear();
  side_parts_.clear();
  stretches_.clear();
  area_weights_.clear();
  for (std::uint32_t x = 0; x < to_width; ++x) {
    if (method == ResizeMethod::kBilinear) {
      // If both neighbours are the same pixel, the next pixel has weight 0.
      const Neighbourhood place = neighbourhood(x, scale, width);
      const bool is_one = place.lower == place.upper;
      const float right_part = is_one ? 0 : place.upper_weight;
      neighbours_.push_back(
          {std::size_t{place.lower} * channels, place.lower + 1 < width ? channels : 0, right_part});
      side_parts_.push_back(side_parts(right_part));
    } else {
      const Coverage covered = coverage(x, scale, width);
      stretches_.push_back(
          {std::size_t{covered.begin} * channels, covered.end - covered.begin, area_weights_.size()});
      for (std::uint32_t at = covered.begin; at < covered.end; ++at)
        area_weights_.push_back(covered.weight(at));
    }
  }
}

template <std::size_t kChannels, typename Sample>
void Resizer::bilinear(const PixelsView& from, const Pixels<Sample>& to) {
  const float scale = ratio(from.size.height, to.size.height);
  for (std::uint32_t y = 0; y < to.size.height; ++y) {
    const Neighbourhood place = neighbourhood(y, scale, from.size.height);
    bilinear_row<kChannels>(
        SourceRows{from.row(place.lower), from.row(place.upper), from.row_samples(), place.upper_weight},
        std::span<Sample>(to.row(y), to.row_samples()));
  }
}

template <std::size_t kChannels>
void Resizer::bilinear_row(const SourceRows& from, std::span<float> to) const {
  std::size_t x = 0;
  float* target = to.data();
  const auto has_room = [&] {  // the vector code reads and writes a little more than the pixel
    return x < neighbours_.size() && neighbours_[x].left + kPixelReads <= from.samples &&
           x * kChannels + kPixelWrites <= to.size();
  };
  if constexpr (kChannels >= 3) {
    for (; has_room(); ++x, target += kChannels) {
      const Neighbours& at = neighbours_[x];
      blend_pixel<kChannels>(from.top + at.left, from.bottom + at.left, at, from.bottom_part, target);
    }
  }
  for (; x < neighbours_.size(); ++x) {
    const Neighbours& at = neighbours_[x];
    for (std::size_t i = at.left; i < at.left + kChannels; ++i, ++target)
      blend_sample(from.top + i, from.bottom + i, at, from.bottom_part, target);
  }
}

template <std::size_t kChannels>
void Resizer::bilinear_row(const SourceRows& from, std::span<std::uint8_t> to) {
  const std::span<std::int16_t> row = std::span(blended_row_).first(from.samples);
  blend_rows(from.top, from.bottom, row_part(from.bottom_part), row);
  std::size_t x = 0;
  if constexpr (kChannels >= 3)
    x = blend_first_sides<kChannels>(row.data(), neighbours_.data(), side_parts_.data(), to);
  std::uint8_t* target = to.data() + x * kChannels;
  for (; x < neighbours_.size(); ++x) {
    const Neighbours& at = neighbours_[x];
    for (std::size_t i = at.left; i < at.left + kChannels; ++i, ++target)
      *target = blend_sides(&row[i], at.to_right, side_parts_[x]);
  }
}

template <typename Sample>
void Resizer::bilinear(const PixelsView& from, const Pixels<Sample>& to) {
  switch (from.channels) {
    case 1:
      return bilinear<1>(from, to);
    case 2:
      return bilinear<2>(from, to);
    case 3:
      return bilinear<3>(from, to);
    default:
      return bilinear<4>(from, to);
  }
}

// First sums along the columns, one target row at a time; then along the row of sums.
template <typename Sample>
void Resizer::area(const PixelsView& from, const Pixels<Sample>& to) {
  const std::size_t channels = from.channels, row_samples = from.row_samples();
  const float scale = ratio(from.size.height, to.size.height);
  const float mean = 1 / (scale * ratio(from.size.width, to.size.width));
  for (std::uint32_t y = 0; y < to.size.height; ++y) {
    const Coverage rows = coverage(y, scale, from.size.height);
    row_sums_.assign(row_samples, 0.0F);
    for (std::uint32_t at = rows.begin; at < rows.end; ++at) {
      const std::uint8_t* const row = from.row(at);
      const float weight = rows.weight(at);
      float* const sums = row_sums_.data();
      for (std::size_t i = 0; i < row_samples; ++i) sums[i] += static_cast<float>(row[i]) * weight;
    }
    Sample* target = to.row(y);
    for (const Stretch& stretch : stretches_) {
      const float* const weights = &area_weights_[stretch.weights];
      for (std::size_t channel = 0; channel < channels; ++channel, ++target) {
        const float* sums = &row_sums_[stretch.begin + channel];
        float sum = 0;
        for (std::uint32_t i = 0; i < stretch.count; ++i, sums += channels) sum += *sums * weights[i];
        store(sum * mean, target);
      }
    }
  }
}

}  // namespace headrace

#include "headrace/codec/image/pixels.h"

#include <algorithm>
#include <limits>
#include <new>

#include "headrace/base/text.h"

namespace headrace {

template <typename Sample>
void flip_horizontally(const Pixels<Sample>& pixels) {
  const std::size_t channels = pixels.channels;
  for (std::size_t y = 0; y < pixels.size.height; ++y) {
    Sample* left = pixels.row(y);
    Sample* right = left + pixels.row_samples();
    while (left + channels < right) {
      right -= channels;
      std::swap_ranges(left, left + channels, right);
      left += channels;
    }
  }
}
template void flip_horizontally(const MutablePixelsView& pixels);
template void flip_horizontally(const MutableFloatPixelsView& pixels);

Status Image::reshape(ImageSize size, std::uint32_t channels) {
  constexpr std::uint64_t kMostBytes = std::numeric_limits<std::ptrdiff_t>::max();
  const std::uint64_t pixels = std::uint64_t{size.width} * size.height;
  const bool is_possible = channels <= kMaxChannels && pixels <= kMostBytes / kMaxChannels;
  if (is_possible && pixels * channels > capacity_bytes_) {
    clear();
    memory_.reset();  // before the new one is taken
    memory_.reset(new (std::nothrow) std::uint8_t[pixels * channels]);
    capacity_bytes_ = memory_ ? pixels * channels : 0;
  }
  if (!is_possible || pixels * channels > capacity_bytes_) {
    clear();
    return Error{Code::kResourceExhausted,
                 concat("no memory for an image of ", size.width, " × ", size.height, " pixels")};
  }
  pixels_ = dense_pixels(memory_.get(), size, channels);
  return {};
}

}  // namespace headrace

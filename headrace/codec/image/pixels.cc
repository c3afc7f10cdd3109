#include "headrace/codec/image/pixels.h"

#include <algorithm>
#include <limits>
#include <new>

#include "headrace/base/text.h"

namespace headrace {

std::optional<ImageSize> parse_image_size(std::string_view text) {
  constexpr std::uint32_t kLongestSide = 65'500;
  const std::size_t by = std::min(text.find('x'), text.size());
  const auto height = parse_number<std::uint32_t>(text.substr(0, by)).value_or(0);
  const auto width = parse_number<std::uint32_t>(text.substr(std::min(by + 1, text.size()))).value_or(0);
  if (height < 1 || height > kLongestSide || width < 1 || width > kLongestSide) return std::nullopt;
  return ImageSize{.width = width, .height = height};
}

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
    memory_.reset();  // before the new memory is allocated
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

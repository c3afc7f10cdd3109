#include "headrace/codec/image/pixels.h"

#include <algorithm>
#include <new>

#include "headrace/base/text.h"

namespace headrace {

void flip_horizontally(const MutablePixelsView& pixels) {
  const std::size_t channels = pixels.channels;
  for (std::size_t y = 0; y < pixels.size.height; ++y) {
    std::uint8_t* left = pixels.row(y);
    std::uint8_t* right = left + pixels.row_samples();
    while (left + channels < right) {
      right -= channels;
      std::swap_ranges(left, left + channels, right);
      left += channels;
    }
  }
}

Status Image::reshape(ImageSize size, std::uint32_t channels) {
  const std::size_t needed_bytes = std::size_t{size.width} * size.height * channels;
  if (needed_bytes > capacity_bytes_) {
    clear();
    capacity_bytes_ = 0;
    memory_.reset();  // before the new one is taken
    memory_.reset(new (std::nothrow) std::uint8_t[needed_bytes]);
    if (!memory_) {
      return Error{Code::kResourceExhausted,
                   concat("no memory for an image of ", size.width, " × ", size.height, " pixels")};
    }
    capacity_bytes_ = needed_bytes;
  }
  pixels_ = dense_pixels(memory_.get(), size, channels);
  return {};
}

}  // namespace headrace

#pragma once

/// \file Pixels in memory: rows from the top, columns from the left, samples of a pixel side by side, as in
/// numpy and TensorFlow (height × width × channels). Views borrow; an `Image` owns.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "headrace/base/result.h"

namespace headrace {

struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const ImageSize&) const = default;
};

/// Parses "150x200": height × width in pixels. None if the text has another form, or a side is 0 or above
/// 65,500, the longest side of a JPEG.
std::optional<ImageSize> parse_image_size(std::string_view text);

struct Rectangle {
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  ImageSize size;
};

/// Borrowed pixels. Each row begins `row_stride` samples after the one above. In a crop, the stride is larger
/// than a row.
template <typename Sample>
struct Pixels {
  Sample* data = nullptr;
  ImageSize size;
  std::uint32_t channels = 0;
  std::size_t row_stride = 0;

  Sample* row(std::size_t y) const { return data + y * row_stride; }
  std::size_t row_samples() const { return std::size_t{size.width} * channels; }
  operator Pixels<const Sample>() const { return {data, size, channels, row_stride}; }
};

using PixelsView = Pixels<const std::uint8_t>;
using MutablePixelsView = Pixels<std::uint8_t>;
using MutableFloatPixelsView = Pixels<float>;

/// Views rows without gaps at `data`, which has `size.width * size.height * channels` samples.
template <typename Sample>
Pixels<Sample> dense_pixels(Sample* data, ImageSize size, std::uint32_t channels) {
  return {data, size, channels, std::size_t{size.width} * channels};
}

/// Views a part of the same memory. REQUIRES: the rectangle lies inside `from`.
template <typename Sample>
Pixels<Sample> crop(const Pixels<Sample>& from, const Rectangle& part) {
  Sample* const begin = from.row(part.top) + std::size_t{part.left} * from.channels;
  return {begin, part.size, from.channels, from.row_stride};
}

/// Mirrors each row in place: left becomes right. Defined for samples of 8 bits and for floats.
template <typename Sample>
void flip_horizontally(const Pixels<Sample>& pixels);

/// Owns pixels, and keeps its memory from one picture to the next. Not thread-safe.
class Image {
 public:
  static constexpr std::uint32_t kMaxChannels = 4;

  Image() = default;
  Image(Image&& other) noexcept { swap(other); }
  Image& operator=(Image&& other) noexcept {
    swap(other);
    return *this;
  }
  void swap(Image& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(capacity_bytes_, other.capacity_bytes_);
    std::swap(pixels_, other.pixels_);
  }

  /// Makes room for a picture. Allocates only if the picture is larger than all before. Does not set the
  /// pixels.
  /// \error kResourceExhausted  no memory
  Status reshape(ImageSize size, std::uint32_t channels);
  /// Removes the pixels but keeps the memory.
  void clear() { pixels_ = {}; }

  PixelsView view() const { return pixels_; }
  MutablePixelsView mutable_view() { return pixels_; }

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t capacity_bytes_ = 0;
  MutablePixelsView pixels_;
};

}  // namespace headrace

#pragma once

/// \file For tests of this folder: small pictures, their encodings, and their pixels in a batch.

#include <vector>

#include "headrace/codec/image/image_encoder.h"
#include "headrace/stream/image_options.h"

namespace headrace {

/// A picture that depends only on the arguments. Every pixel differs from its neighbours.
inline Image striped_picture(ImageSize size, std::uint32_t channels, std::uint64_t number) {
  Image image;
  EXPECT_TRUE(image.reshape(size, channels));
  const MutablePixelsView pixels = image.mutable_view();
  for (std::size_t y = 0; y < size.height; ++y) {
    for (std::size_t i = 0; i < pixels.row_samples(); ++i)
      pixels.row(y)[i] = static_cast<std::uint8_t>(7 * i + 13 * y + 31 * number);
  }
  return image;
}

inline Bytes png_of(const Image& image) {
  Bytes encoded;
  EXPECT_TRUE(encode_png(image.view(), 1, encoded));
  return encoded;
}

inline Bytes jpeg_of(const Image& image) {
  Bytes encoded;
  EXPECT_TRUE(encode_jpeg(image.view(), {}, encoded));
  return encoded;
}

/// The pixels of a picture in a batch without augmentations.
inline std::vector<std::uint8_t> resized_picture(BytesView encoded, const ImageColumn& column) {
  Image image;
  EXPECT_TRUE(ImageDecoder().decode(encoded, {.channels = column.channels}, image));
  std::vector<std::uint8_t> row(std::size_t{column.size.width} * column.size.height * column.channels);
  EXPECT_TRUE(
      Resizer().resize(image.view(), column.method, dense_pixels(row.data(), column.size, column.channels)));
  return row;
}

}  // namespace headrace

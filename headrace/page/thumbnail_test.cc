#include "headrace/page/thumbnail.h"

#include <gtest/gtest.h>

#include "headrace/codec/image/image_decoder.h"
#include "headrace/codec/image/image_encoder.h"

namespace headrace {
namespace {

// An image of noise, which JPEG compresses worst.
Bytes encoded_noise(ImageSize size, std::uint32_t channels) {
  Image image;
  EXPECT_TRUE(image.reshape(size, channels));
  std::uint32_t state = 1;
  for (std::uint32_t y = 0; y < size.height; ++y) {
    for (std::size_t x = 0; x < image.view().row_samples(); ++x)
      image.mutable_view().row(y)[x] =
          static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  }
  Bytes png;
  EXPECT_TRUE(encode_png(image.view(), 1, png));
  return png;
}

ImageSize size_of(BytesView jpeg) { return read_image_header(jpeg)->size; }

TEST(Thumbnail, FitsAndKeepsTheRatioOfSides) {
  for (const auto& [size, expected] : {std::pair(ImageSize{400, 300}, ImageSize{96, 72}),
                                       {ImageSize{8, 5}, ImageSize{8, 5}},
                                       {ImageSize{2'000, 1}, ImageSize{96, 1}}}) {
    const auto thumbnail = make_thumbnail(encoded_noise(size, 3));
    ASSERT_TRUE(thumbnail);
    EXPECT_EQ(size_of(*thumbnail), expected);
    EXPECT_LE(thumbnail->size(), kThumbnailBytes);
  }
}

TEST(Thumbnail, IsMadeOfGreyAndAlphaToo) {
  for (const std::uint32_t channels : {1, 2, 4})
    EXPECT_TRUE(make_thumbnail(encoded_noise({20, 20}, channels)));
}

TEST(Thumbnail, IsNotMadeOfWhatIsNoPicture) {
  EXPECT_FALSE(make_thumbnail(as_bytes("no picture")));
  EXPECT_FALSE(make_thumbnail({}));
}

}  // namespace
}  // namespace headrace

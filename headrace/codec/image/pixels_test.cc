#include "headrace/codec/image/pixels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/codec/image/image_builder_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;

TEST(Pixels, ACropIsAViewOfTheSameMemory) {
  const Image image = image_of({3, 3}, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const PixelsView part = crop(image.view(), {1, 1, {2, 2}});
  EXPECT_EQ(part.data, image.view().data + 4);
  EXPECT_THAT(samples_of(part), ElementsAre(5, 6, 8, 9));
}

TEST(Pixels, AFlipMirrorsEachRow) {
  Image odd = image_of({3, 2}, 2, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  flip_horizontally(odd.mutable_view());
  EXPECT_THAT(samples_of(odd.view()), ElementsAre(3, 3, 2, 2, 1, 1, 6, 6, 5, 5, 4, 4));
  Image even = image_of({4, 1}, 1, {1, 2, 3, 4});
  flip_horizontally(even.mutable_view());
  EXPECT_THAT(samples_of(even.view()), ElementsAre(4, 3, 2, 1));
  std::vector<float> floats = {0.5F, 1.5F, 2.5F, 3.5F};
  flip_horizontally(dense_pixels(floats.data(), {2, 1}, 2));
  EXPECT_THAT(floats, ElementsAre(2.5F, 3.5F, 0.5F, 1.5F));
}

TEST(Image, KeepsItsMemoryForSmallerPictures) {
  Image image = smooth_image({10, 10}, 3);
  const std::uint8_t* const memory = image.view().data;
  ASSERT_TRUE(image.reshape({5, 7}, 1));
  EXPECT_EQ(image.view().data, memory);
  image.clear();
  EXPECT_EQ(image.view().data, nullptr);
  ASSERT_TRUE(image.reshape({10, 10}, 3));
  EXPECT_EQ(image.view().data, memory);
}

TEST(Image, MemoryThatThereIsNotIsAnError) {
  Image image;
  const Status status = image.reshape({0xffffffff, 0xffffffff}, 4);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kResourceExhausted);
  EXPECT_EQ(image.view().data, nullptr);
}

}  // namespace
}  // namespace headrace

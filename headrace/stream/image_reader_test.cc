#include "headrace/stream/image_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "headrace/stream/small_images_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr ImageColumn kColumn = {.size = {.width = 7, .height = 5}};

Result<std::vector<std::uint8_t>> read(ImageReader& reader, BytesView encoded, const ImageColumn& column,
                                       ImageSize in_batch) {
  std::vector<std::uint8_t> row(std::size_t{in_batch.width} * in_batch.height * column.channels);
  HEADRACE_CHECK(
      reader.read(encoded, column, {.epoch = 0, .position = 9}, reinterpret_cast<std::byte*>(row.data())));
  return row;
}

TEST(ImageReader, GivesDecodedAndResizedPixels) {
  PictureMemory memory(0);
  ImageReader reader(44, {}, memory);
  // The second image is large. It needs shared memory, but is decoded although there is none.
  for (const ImageSize size : {ImageSize{40, 30}, ImageSize{1100, 1000}, ImageSize{30, 40}}) {
    const Bytes png = png_of(striped_picture(size, 3, 1));
    EXPECT_EQ(*read(reader, png, kColumn, kColumn.size), resized_picture(png, kColumn));
  }
}

TEST(ImageReader, CropsWhatIsResized) {
  PictureMemory memory(0);
  ImageReader reader(44, {Flip{}, Crop{{3, 2}}, Flip{}}, memory);
  const Bytes png = png_of(striped_picture({40, 30}, 3, 1));
  std::vector<std::uint8_t> resized = resized_picture(png, kColumn);
  MutablePixelsView pixels = dense_pixels(resized.data(), kColumn.size, 3);
  augment(std::vector<Augmentation>{Flip{}, Crop{{3, 2}}, Flip{}}, 44, {0, 9}, pixels);
  const auto row = read(reader, png, kColumn, {3, 2});
  ASSERT_TRUE(row);
  EXPECT_TRUE(std::equal(row->begin(), row->begin() + 9, pixels.row(0)));
  EXPECT_TRUE(std::equal(row->begin() + 9, row->end(), pixels.row(1)));
}

TEST(ImageReader, WhatIsNoWholeImageIsAnError) {
  PictureMemory memory(0);
  ImageReader reader(44, {}, memory);
  const Image picture = striped_picture({40, 30}, 3, 1);
  for (const Bytes& whole : {png_of(picture), jpeg_of(picture)}) {
    for (std::size_t size = 0; size + 2 < whole.size(); size += 7)
      EXPECT_FALSE(read(reader, BytesView(whole).first(size), kColumn, kColumn.size)) << size;
    EXPECT_TRUE(read(reader, whole, kColumn, kColumn.size));
    ImageColumn small = kColumn;
    small.max_pixels = 40 * 30 - 1;
    const auto too_large = read(reader, whole, small, kColumn.size);
    ASSERT_FALSE(too_large);
    EXPECT_EQ(too_large.error().code, Code::kResourceExhausted);
    EXPECT_THAT(too_large.error().message, HasSubstr("40 × 30 pixels; the limit is 1199"));
  }
}

TEST(PictureMemory, IsNeverGivenTwice) {
  PictureMemory memory(10);
  std::atomic<int> bytes = 0, most = 0;
  const auto take = [&](int wanted) {
    for (int i = 0; i < 1000; ++i) {
      const PictureMemory::Share share(memory, static_cast<std::uint64_t>(wanted));
      const int counted = std::min(wanted, 10);
      const int now = bytes += counted;
      if (now > most) most = now;
      bytes -= counted;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (const int wanted : {3, 4, 6, 10, 25}) threads.emplace_back(take, wanted);
  }
  EXPECT_LE(most, 10);
  EXPECT_EQ(bytes, 0);
}

}  // namespace
}  // namespace headrace

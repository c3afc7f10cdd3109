#include "headrace/prepare/schema/image_converter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "headrace/codec/image/image_encoder.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// A PNG whose samples are a function of their place, and those samples.
struct Picture {
  Picture(ImageSize size, std::uint32_t channels) {
    samples.resize(std::size_t{size.width} * size.height * channels);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::uint8_t>(i * 7 + i / 64);
    const PixelsView pixels = dense_pixels<const std::uint8_t>(samples.data(), size, channels);
    EXPECT_TRUE(encode_png(pixels, 6, png));
  }
  std::vector<std::uint8_t> samples;
  Bytes png;
};

constexpr ImageSize kSize{.width = 40, .height = 30};

TEST(ImageConverter, KeepsTheBytesIfNothingIsAsked) {
  const Picture picture(kSize, 3);
  ImageConverter converter;
  const auto kept = converter.convert(picture.png, {});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->data.data(), picture.png.data());
  EXPECT_EQ(kept->data.size(), picture.png.size());
  EXPECT_EQ(kept->size, kSize);
  EXPECT_EQ(kept->channels, 3U);
}

TEST(ImageConverter, OnlyVerifyingSeesDamagedPixels) {
  Picture picture(kSize, 3);
  picture.png[picture.png.size() / 2] ^= std::byte{1};
  ImageConverter converter;
  EXPECT_TRUE(converter.convert(picture.png, {}));
  const auto verified = converter.convert(picture.png, {.verify = true});
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, Code::kDataLoss);
}

TEST(ImageConverter, RawIsThePixels) {
  const Picture picture(kSize, 3);
  ImageConverter converter;
  const auto raw = converter.convert(picture.png, {.output = ImageOutput::kRaw});
  ASSERT_TRUE(raw);
  const auto* const samples = reinterpret_cast<const std::byte*>(picture.samples.data());
  EXPECT_TRUE(std::equal(raw->data.begin(), raw->data.end(), samples, samples + picture.samples.size()));
}

TEST(ImageConverter, RawBase64IsForUrlsAndWithoutAlpha) {
  const std::vector<std::uint8_t> samples = {0xfb, 0xff, 0xbf, 7, 0xfe, 0xff, 0xff, 9};
  Bytes png;
  ASSERT_TRUE(
      encode_png(dense_pixels<const std::uint8_t>(samples.data(), {.width = 2, .height = 1}, 4), 6, png));
  ImageConverter converter;
  const auto made = converter.convert(png, {.output = ImageOutput::kRawBase64});
  ASSERT_TRUE(made);
  EXPECT_EQ(as_text(made->data), "-_-__v__");
  EXPECT_EQ(made->channels, 3U);
}

TEST(ImageConverter, ResizesThenCropsTheMiddle) {
  const Picture picture(kSize, 3);
  ImageConverter converter;
  const ImageSteps resized{.resize = ImageSize{.width = 20, .height = 10}, .output = ImageOutput::kRaw};
  ImageSteps cropped = resized;
  cropped.crop = ImageSize{.width = 6, .height = 4};
  const auto whole = converter.convert(picture.png, resized);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->data.size(), 20U * 10 * 3);
  const Bytes before(whole->data.begin(), whole->data.end());
  const auto part = converter.convert(picture.png, cropped);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->size, (ImageSize{.width = 6, .height = 4}));
  ASSERT_EQ(part->data.size(), 6U * 4 * 3);
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(part->data[y * 18 + i], before[(y + 3) * 60 + 7 * 3 + i]);
  }
}

TEST(ImageConverter, ACropLargerThanTheImageIsAnError) {
  const Picture picture(kSize, 3);
  const auto part = ImageConverter().convert(
      picture.png, {.crop = ImageSize{.width = 41, .height = 5}, .output = ImageOutput::kPng});
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().code, Code::kInvalidArgument);
  EXPECT_THAT(part.error().message, HasSubstr("30 x 40 pixels, smaller than the crop of 5 x 41"));
}

TEST(ImageConverter, WhatItStoresIsAnImageOfThatSize) {
  ImageConverter converter;
  ImageConverter reader;
  for (std::uint32_t channels = 1; channels <= 4; ++channels) {
    const Picture picture(kSize, channels);
    for (const ImageOutput output : {ImageOutput::kJpeg, ImageOutput::kPng}) {
      const auto stored =
          converter.convert(picture.png, {.resize = ImageSize{.width = 9, .height = 8}, .output = output});
      ASSERT_TRUE(stored) << channels << ": " << stored.error().message;
      const bool loses_alpha = output == ImageOutput::kJpeg && channels % 2 == 0;
      EXPECT_EQ(stored->channels, channels - (loses_alpha ? 1 : 0));
      const auto read = reader.convert(stored->data, {.verify = true});
      ASSERT_TRUE(read);
      EXPECT_EQ(read->size, (ImageSize{.width = 9, .height = 8}));
      EXPECT_EQ(read->channels, stored->channels);
    }
  }
}

TEST(ImageConverter, TooManyPixelsAreRefusedBeforeTheyAreDecoded) {
  const Picture picture(kSize, 3);
  const auto kept = ImageConverter().convert(picture.png, {.max_pixels = 1'199});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kResourceExhausted);
}

TEST(ImageConverter, WhatIsNoImageIsAnError) {
  ImageConverter converter;
  EXPECT_FALSE(converter.convert({}, {}));
  const Bytes text(100, std::byte{'x'});
  EXPECT_FALSE(converter.convert(text, {}));
}

}  // namespace
}  // namespace headrace

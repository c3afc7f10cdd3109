#include "headrace/codec/image/image_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/codec/image/image_builder_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr ImageSize kHeaderSize = {20, 10};

Bytes small_jpeg(std::uint32_t channels = 3) {
  Bytes out;
  EXPECT_TRUE(encode_jpeg(smooth_image(kHeaderSize, channels).view(), {}, out));
  return out;
}

Bytes small_png(std::uint32_t channels) {
  Bytes out;
  EXPECT_TRUE(encode_png(smooth_image(kHeaderSize, channels).view(), 6, out));
  return out;
}

Error header_error(BytesView encoded) {
  const auto header = read_image_header(encoded);
  if (header) return {Code::kUnknown, "no error"};
  return header.error();
}

TEST(ImageHeader, SaysSizeAndChannels) {
  for (const std::uint32_t channels : {1U, 3U}) {
    const auto header = read_image_header(small_jpeg(channels));
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->format, ImageFormat::kJpeg);
    EXPECT_EQ(header->size, kHeaderSize);
    EXPECT_EQ(header->channels, channels);
    EXPECT_EQ(header->orientation, 1U);
  }
  for (std::uint32_t channels = 1; channels <= 4; ++channels) {
    const auto header = read_image_header(small_png(channels));
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->format, ImageFormat::kPng);
    EXPECT_EQ(header->size, kHeaderSize);
    EXPECT_EQ(header->channels, channels);
    EXPECT_EQ(header->bits, 8U);
  }
}

TEST(ImageHeader, SaysWhatTakesMoreMemoryToDecode) {
  const Image picture = smooth_image(kHeaderSize, 3);
  EXPECT_FALSE(read_image_header(make_jpeg(picture.view(), {}))->has_several_scans);
  for (const JpegScans scans : {JpegScans::kOneForEachComponent, JpegScans::kProgressive})
    EXPECT_TRUE(read_image_header(make_jpeg(picture.view(), {.scans = scans}))->has_several_scans);
  const auto cmyk =
      read_image_header(make_jpeg(smooth_image(kHeaderSize, 4).view(), {.colors = JpegColors::kCmyk}));
  EXPECT_TRUE(cmyk->is_cmyk);
  EXPECT_FALSE(cmyk->has_several_scans);
  EXPECT_FALSE(read_image_header(small_jpeg(1))->has_several_scans);
}

TEST(ImageHeader, TransparencyOfAPaletteOrAColorIsAChannel) {
  const std::string palette = png_chunk("PLTE", std::string(6, 'x'));
  const std::string transparency = png_chunk("tRNS", "x");
  const PngKind kind = {{1, 1}, 1, 3};
  EXPECT_EQ(read_image_header(make_png(kind, std::string(2, '\0'), palette))->channels, 3U);
  EXPECT_EQ(read_image_header(make_png(kind, std::string(2, '\0'), palette + transparency))->channels, 4U);
}

TEST(ImageHeader, OrientationIsReadInEitherByteOrder) {
  for (std::uint16_t orientation = 1; orientation <= 8; ++orientation) {
    for (const bool is_little_endian : {false, true}) {
      const std::string exif = make_exif(orientation, is_little_endian);
      EXPECT_EQ(read_image_header(with_exif(small_jpeg(), exif))->orientation, orientation);
      const Bytes png = make_png({{1, 1}}, std::string(2, '\0'), png_chunk("eXIf", exif));
      EXPECT_EQ(read_image_header(png)->orientation, orientation);
    }
  }
}

TEST(ImageHeader, AnOrientationThatMakesNoSenseIsUpright) {
  const std::string exif = make_exif(6, true);
  std::vector<std::string> senseless = {make_exif(0, true), make_exif(9, false), "", "II",
                                        "XX" + exif.substr(2)};
  for (std::size_t size = 0; size < exif.size() - 6; ++size) senseless.push_back(exif.substr(0, size));
  std::string far = exif;
  far.replace(4, 4, "\xff\xff\xff\xff");
  senseless.push_back(far);
  for (const std::string& tiff : senseless)
    EXPECT_EQ(read_image_header(with_exif(small_jpeg(), tiff))->orientation, 1U) << tiff.size();
}

TEST(ImageHeader, EveryBeginningThatIsTooShortIsAnError) {
  for (const Bytes& whole : {with_exif(small_jpeg(), make_exif(6, true)), small_png(3)}) {
    bool is_long_enough = false;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const auto header = read_image_header(BytesView(whole).first(size));
      if (header) {
        EXPECT_EQ(header->size, kHeaderSize);
        is_long_enough = true;
      } else {
        EXPECT_FALSE(is_long_enough) << size;
        EXPECT_EQ(header.error().code, Code::kDataLoss) << size;
      }
    }
    EXPECT_TRUE(is_long_enough);
  }
}

TEST(ImageHeader, WhatIsNotReadIsNamed) {
  const std::vector<std::pair<std::string, std::string>> others = {
      {"GIF89a........", "a GIF"},
      {"BM............", "a BMP"},
      {"RIFF....WEBPVP8 ", "a WebP"},
      {std::string("II*\0........", 12), "a TIFF"},
      {std::string("\0\0\0 ftypavif....", 16), "an AVIF"},
      {std::string("\0\0\0 ftypheic....", 16), "a HEIF"}};
  for (const auto& [bytes, name] : others) {
    const Error error = header_error(as_bytes(bytes));
    EXPECT_EQ(error.code, Code::kUnimplemented);
    EXPECT_THAT(error.message, HasSubstr(concat(name, ", which is not supported; convert it")));
  }
  EXPECT_EQ(header_error(as_bytes("a text")).code, Code::kInvalidArgument);
  EXPECT_EQ(header_error({}).code, Code::kDataLoss);
}

TEST(ImageHeader, KindsOfJpegThatAreNotReadAreNamed) {
  const auto with_frame = [](char marker, char bits, char components) {
    std::string jpeg = to_string(small_jpeg());
    const std::size_t frame = jpeg.find("\xff\xc0");
    jpeg[frame + 1] = marker;
    jpeg[frame + 4] = bits;
    jpeg[frame + 9] = components;
    return header_error(as_bytes(jpeg));
  };
  EXPECT_THAT(with_frame('\xc3', 8, 3).message, HasSubstr("lossless"));
  EXPECT_THAT(with_frame('\xc9', 8, 3).message, HasSubstr("arithmetic"));
  EXPECT_THAT(with_frame('\xc1', 12, 3).message, HasSubstr("12 bits"));
  EXPECT_THAT(with_frame('\xc0', 8, 2).message, HasSubstr("2 components"));
}

TEST(ImageHeader, NoPixelsAreDamage) {
  EXPECT_THAT(header_error(make_png({{0, 7}}, "x")).message, HasSubstr("declares no pixels"));
  EXPECT_EQ(header_error(make_png({{7, 7}, 3, 0}, "x")).code, Code::kDataLoss);
}

TEST(ImageHeader, ADeclaredSizeIsComparedWithTheLimitAndTheFile) {
  const ImageHeader huge = {.format = ImageFormat::kJpeg, .size = {65535, 65535}, .channels = 3};
  const Status too_large = check_declared_size(huge, 1 << 30, 100'000'000);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, Code::kResourceExhausted);
  EXPECT_THAT(too_large.error().message, HasSubstr("65535 × 65535"));
  for (const ImageFormat format : {ImageFormat::kJpeg, ImageFormat::kPng}) {
    const ImageHeader large = {.format = format, .size = {10'000, 10'000}, .channels = 3};
    const Status too_short = check_declared_size(large, 500, 100'000'000);
    ASSERT_FALSE(too_short);
    EXPECT_EQ(too_short.error().code, Code::kDataLoss);
    EXPECT_TRUE(check_declared_size(large, 200'000, 100'000'000));
  }
}

}  // namespace
}  // namespace headrace

#include "headrace/codec/image/image_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/codec/image/image_builder_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Samples = std::vector<std::uint8_t>;

constexpr ImageSize kSize = {37, 22};

Samples decode(BytesView encoded, const DecodeOptions& options = {}) {
  Image out;
  const Status status = ImageDecoder().decode(encoded, options, out);
  EXPECT_TRUE(status) << status.error().message;
  return samples_of(out.view());
}

Error error_of(BytesView encoded, const DecodeOptions& options = {}) {
  Image out = smooth_image({1, 1}, 1);
  const Status status = ImageDecoder().decode(encoded, options, out);
  EXPECT_EQ(samples_of(out.view()).empty(), !status) << "a failure leaves no pixels";
  return status ? Error{Code::kUnknown, "no error"} : status.error();
}

Bytes jpeg_of(const Image& image, const JpegOptions& options = {}) {
  Bytes out;
  EXPECT_TRUE(encode_jpeg(image.view(), options, out));
  return out;
}

Bytes png_of(const Image& image) {
  Bytes out;
  EXPECT_TRUE(encode_png(image.view(), 6, out));
  return out;
}

int largest_difference(const Samples& a, const Samples& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(ImageDecoder, APngGivesBackWhatWasEncoded) {
  for (std::uint32_t channels = 1; channels <= 4; ++channels) {
    const Image image = smooth_image(kSize, channels);
    EXPECT_EQ(decode(png_of(image)), samples_of(image.view()));
  }
}

TEST(ImageDecoder, AJpegGivesNearlyWhatWasEncoded) {
  for (const auto subsampling : {ChromaSubsampling::k444, ChromaSubsampling::k422, ChromaSubsampling::k420}) {
    for (const std::uint32_t channels : {1U, 3U}) {
      const Image image = smooth_image(kSize, channels);
      const Samples decoded = decode(jpeg_of(image, {.quality = 98, .subsampling = subsampling}));
      EXPECT_LE(largest_difference(decoded, samples_of(image.view())), 12);
    }
  }
}

TEST(ImageDecoder, AProgressiveJpegGivesWhatABaselineOneGives) {
  const Image image = smooth_image(kSize, 3);
  EXPECT_EQ(decode(make_jpeg(image.view(), {.scans = JpegScans::kProgressive})),
            decode(make_jpeg(image.view(), {})));
}

TEST(ImageDecoder, AnInterlacedPngIsThePlainOne) {
  const Image image = smooth_image(kSize, 3);
  const Bytes interlaced = make_png({kSize, 8, 2, true}, interlaced_rows(image.view()));
  EXPECT_EQ(decode(interlaced), samples_of(image.view()));
}

TEST(ImageDecoder, SamplesOfOtherWidthsBecomeEightBits) {
  EXPECT_THAT(decode(make_png({{3, 1}, 16, 0}, std::string("\0\x12\xff\x80\0\xff\xff", 7))),
              ElementsAre(0x12, 0x80, 0xff));
  EXPECT_THAT(decode(make_png({{4, 1}, 2, 0}, std::string("\0\x1b", 2))), ElementsAre(0, 85, 170, 255));
  EXPECT_THAT(decode(make_png({{2, 1}, 1, 0}, std::string("\0\x40", 2))), ElementsAre(0, 255));
}

TEST(ImageDecoder, APaletteIsItsColors) {
  const std::string palette = png_chunk("PLTE", "abcxyz");
  const std::string rows("\0\x40", 2);
  EXPECT_THAT(decode(make_png({{2, 1}, 1, 3}, rows, palette)), ElementsAre('a', 'b', 'c', 'x', 'y', 'z'));
  const std::string transparency = png_chunk("tRNS", "\x07");
  EXPECT_THAT(decode(make_png({{2, 1}, 1, 3}, rows, palette + transparency)),
              ElementsAre('a', 'b', 'c', 7, 'x', 'y', 'z', 255));
}

TEST(ImageDecoder, AlphaIsLeftOutOrBlended) {
  const Bytes rgba = png_of(image_of({2, 1}, 4, {200, 100, 0, 51, 10, 20, 30, 255}));
  EXPECT_THAT(decode(rgba, {.channels = 3}), ElementsAre(200, 100, 0, 10, 20, 30));
  EXPECT_THAT(decode(rgba, {.channels = 3, .background = RgbColor{0, 0, 255}}),
              ElementsAre(40, 20, 204, 10, 20, 30));
  const Bytes grey = png_of(image_of({2, 1}, 2, {100, 0, 100, 255}));
  EXPECT_THAT(decode(grey, {.channels = 1}), ElementsAre(100, 100));
  EXPECT_THAT(decode(grey, {.channels = 1, .background = RgbColor{255, 255, 255}}), ElementsAre(255, 100));
  EXPECT_THAT(decode(grey, {.channels = 3}), ElementsAre(100, 100, 100, 100, 100, 100));
}

TEST(ImageDecoder, ColorBecomesGreyAndGreyBecomesColor) {
  EXPECT_THAT(decode(png_of(image_of({2, 1}, 3, {255, 0, 0, 0, 255, 0})), {.channels = 1}),
              ElementsAre(76, 150));
  EXPECT_THAT(decode(png_of(image_of({1, 1}, 1, {9})), {.channels = 4}), ElementsAre(9, 9, 9, 255));
  const Samples grey = decode(jpeg_of(smooth_image(kSize, 1)));
  const Samples color = decode(jpeg_of(smooth_image(kSize, 1)), {.channels = 3});
  for (std::size_t i = 0; i < grey.size(); ++i) ASSERT_EQ(color[3 * i + 1], grey[i]);
  EXPECT_EQ(decode(jpeg_of(smooth_image(kSize, 3)), {.channels = 1}).size(), grey.size());
}

TEST(ImageDecoder, CmykIsRgbWhetherInvertedOrNot) {
  Samples inks, inverted;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {40, 90, 200, 30});
  for (const std::uint8_t ink : inks) inverted.push_back(static_cast<std::uint8_t>(255 - ink));
  const Image plain = image_of({8, 8}, 4, inks), adobe = image_of({8, 8}, 4, inverted);
  const int expected[] = {215 * 225 / 255, 165 * 225 / 255, 55 * 225 / 255};
  for (const Bytes& jpeg :
       {make_jpeg(plain.view(), {.colors = JpegColors::kCmyk}),
        make_jpeg(adobe.view(), {.colors = JpegColors::kCmyk, .has_adobe_marker = true}),
        make_jpeg(adobe.view(), {.colors = JpegColors::kYcck, .has_adobe_marker = true})}) {
    EXPECT_EQ(read_image_header(jpeg)->channels, 3U);
    const Samples decoded = decode(jpeg);
    ASSERT_EQ(decoded.size(), 64U * 3);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(decoded[static_cast<std::size_t>(i)], expected[i], 3);
  }
}

TEST(ImageDecoder, AnImageIsTurnedAsExifSays) {
  // 1 2 3
  // 4 5 6
  const Samples stored = {1, 2, 3, 4, 5, 6};
  const std::vector<Samples> upright = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1},
                                        {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3},
                                        {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  for (std::uint16_t orientation = 1; orientation <= 8; ++orientation) {
    const Bytes png = make_png({{3, 2}}, std::string("\0\1\2\3\0\4\5\6", 8),
                               png_chunk("eXIf", make_exif(orientation, orientation % 2 == 0)));
    Image out;
    ASSERT_TRUE(ImageDecoder().decode(png, {}, out));
    EXPECT_EQ(samples_of(out.view()), upright[orientation - 1U]) << orientation;
    EXPECT_EQ(out.view().size, (orientation < 5 ? ImageSize{3, 2} : ImageSize{2, 3}));
    EXPECT_EQ(decode(png, {.is_upright = false}), stored);
  }
}

TEST(ImageDecoder, AScaledJpegIsTheLeastThatIsLargeEnough) {
  const Bytes jpeg = jpeg_of(smooth_image({403, 301}, 3));
  const auto size_for = [&](ImageSize least, std::uint16_t orientation) {
    Image out;
    EXPECT_TRUE(
        ImageDecoder().decode(with_exif(jpeg, make_exif(orientation, true)), {.at_least = least}, out));
    return out.view().size;
  };
  EXPECT_EQ(size_for({150, 150}, 1), (ImageSize{202, 151}));
  EXPECT_EQ(size_for({150, 152}, 1), (ImageSize{403, 301}));
  EXPECT_EQ(size_for({101, 76}, 1), (ImageSize{101, 76}));
  EXPECT_EQ(size_for({1, 1}, 1), (ImageSize{51, 38}));
  EXPECT_EQ(size_for({5000, 1}, 1), (ImageSize{403, 301}));
  EXPECT_EQ(size_for({76, 101}, 6), (ImageSize{76, 101}));
  EXPECT_EQ(size_for({101, 76}, 6), (ImageSize{151, 202}));
}

TEST(ImageDecoder, EveryCutImageIsAnError) {
  const Image image = smooth_image({19, 17}, 3);
  for (const Bytes& whole :
       {jpeg_of(image), make_jpeg(image.view(), {.scans = JpegScans::kProgressive}), png_of(image),
        make_png({{19, 17}, 8, 2, true}, interlaced_rows(image.view()))}) {
    ImageDecoder decoder;
    Image out;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Status status = decoder.decode(BytesView(whole).first(size), {}, out);
      ASSERT_FALSE(status) << size << " of " << whole.size();
      EXPECT_EQ(status.error().code, Code::kDataLoss) << status.error().message;
      EXPECT_EQ(out.view().data, nullptr);
    }
    EXPECT_TRUE(decoder.decode(whole, {}, out)) << "a decoder is as good as new after an error";
    EXPECT_TRUE(decoder.decode(Bytes(whole), {}, out));
  }
}

TEST(ImageDecoder, AnAlteredPngIsAnError) {
  const Bytes whole = png_of(smooth_image({19, 17}, 3));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes altered = whole;
    altered[i] ^= std::byte{0x04};
    EXPECT_NE(error_of(altered).message, "no error") << i;
  }
}

TEST(ImageDecoder, BytesBetweenAndAfterSegmentsOfAJpegAreHarmless) {
  const Bytes jpeg = jpeg_of(smooth_image(kSize, 3));
  std::string padded = to_string(jpeg);
  padded.insert(padded.size() - 2, "extraneous");
  padded += "a video, perhaps";
  EXPECT_EQ(decode(to_bytes(padded)), decode(jpeg));
}

TEST(ImageDecoder, ALyingHeaderIsToldBeforeMemoryIsTaken) {
  std::string jpeg = to_string(jpeg_of(smooth_image(kSize, 3)));
  jpeg.replace(jpeg.find("\xff\xc0") + 5, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(error_of(as_bytes(jpeg)).code, Code::kResourceExhausted);
  EXPECT_THAT(error_of(as_bytes(jpeg), {.max_pixels = ~std::uint64_t{0}}).message, HasSubstr("cannot hold"));
  const Bytes png = make_png({{65535, 65535}, 8, 2}, "");
  EXPECT_EQ(error_of(png).code, Code::kResourceExhausted);
  EXPECT_THAT(error_of(png, {.max_pixels = ~std::uint64_t{0}}).message, HasSubstr("cannot hold"));
  EXPECT_EQ(error_of(make_png({{30, 30}, 8, 2}, std::string(100, '\0'))).code, Code::kDataLoss);
}

TEST(ImageDecoder, OneDeclaredPixelIsAllThatIsDecoded) {
  const std::string more(1 << 20, '\0');
  EXPECT_THAT(decode(make_png({{1, 1}}, std::string("\0\x2a", 2) + more)), ElementsAre(42));
}

TEST(ImageDecoder, APngOfTransparencyThatCannotBeIsDamaged) {
  EXPECT_EQ(error_of(make_png({{1, 1}}, std::string(2, '\0'), png_chunk("tRNS", "abc"))).code,
            Code::kDataLoss);
}

TEST(ImageDecoder, TheFramesOfAnAnimationArePassedOver) {
  const std::string control = png_chunk("acTL", std::string("\0\0\0\2\0\0\0\0", 8));
  EXPECT_THAT(decode(make_png({{1, 1}}, std::string("\0\x2a", 2), control)), ElementsAre(42));
}

TEST(ImageDecoder, AJpegOfTooManyScansIsAnError) {
  std::string text =
      to_string(make_jpeg(smooth_image(kSize, 3).view(), {.scans = JpegScans::kOneForEachComponent}));
  EXPECT_FALSE(decode(as_bytes(text)).empty());
  const std::size_t begin = text.rfind("\xff\xda");
  const std::string last = text.substr(begin, text.size() - 2 - begin);
  for (int i = 0; i < 100; ++i) text.insert(text.size() - 2, last);
  EXPECT_THAT(error_of(as_bytes(text)).message, HasSubstr("more than 64 scans"));
}

TEST(ImageDecoder, ImpossibleChannelsAreRefused) {
  EXPECT_EQ(error_of(jpeg_of(smooth_image(kSize, 3)), {.channels = 5}).code, Code::kInvalidArgument);
}

TEST(ImageEncoder, SaysWhatCannotBeEncoded) {
  Bytes out = to_bytes("before");
  EXPECT_FALSE(encode_jpeg(smooth_image(kSize, 4).view(), {}, out));
  EXPECT_FALSE(encode_jpeg(smooth_image(kSize, 3).view(), {.quality = 0}, out));
  EXPECT_FALSE(encode_jpeg(smooth_image({65501, 1}, 1).view(), {}, out));
  EXPECT_FALSE(encode_png(smooth_image(kSize, 3).view(), 10, out));
  EXPECT_FALSE(encode_png(PixelsView{}, 6, out));
  EXPECT_EQ(as_text(out), "before");
}

TEST(ImageEncoder, AppendsTheSameBytesEachTime) {
  const Image image = smooth_image({300, 200}, 3);
  const Bytes jpeg = jpeg_of(image), png = png_of(image);
  Bytes both;
  ASSERT_TRUE(encode_jpeg(image.view(), {}, both));
  ASSERT_TRUE(encode_png(image.view(), 6, both));
  Bytes expected = jpeg;
  append(expected, png);
  EXPECT_EQ(both, expected);
  EXPECT_THAT(image_encoder_fingerprint(), testing::StartsWith("libjpeg-turbo "));
}

TEST(ImageEncoder, EncodesACrop) {
  const Image image = smooth_image(kSize, 3);
  const PixelsView part = crop(image.view(), {5, 3, {8, 4}});
  Bytes png;
  ASSERT_TRUE(encode_png(part, 6, png));
  EXPECT_EQ(decode(png), samples_of(part));
}

TEST(ImageDecoder, SaysHowMuchMemoryAPictureTakes) {
  const ImageHeader header{.size = {100, 10}, .channels = 3};
  EXPECT_EQ(decode_memory_bytes(header, 3), 4'000U);
  EXPECT_EQ(decode_memory_bytes(header, 1), 8'000U);
  ImageHeader turned = header;
  turned.orientation = 6;
  EXPECT_EQ(decode_memory_bytes(turned, 3), 8'000U);
  turned.has_several_scans = true;
  EXPECT_EQ(decode_memory_bytes(turned, 3), 16'000U);
}

// The replaced decoder frees its memory: the address sanitizer would report a leak.
TEST(ImageDecoder, MayBeReplaced) {
  const Bytes jpeg = make_jpeg(smooth_image({20, 10}, 3).view(), {});
  ImageDecoder decoder;
  Image first, second;
  ASSERT_TRUE(decoder.decode(jpeg, {}, first));
  decoder = ImageDecoder();
  ASSERT_TRUE(decoder.decode(jpeg, {}, second));
  EXPECT_EQ(samples_of(first.view()), samples_of(second.view()));
}

}  // namespace
}  // namespace headrace

#include "headrace/codec/image/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "headrace/codec/image/image_builder_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

constexpr std::uint32_t kSides[] = {1, 2, 3, 5, 8, 13, 40};

std::vector<float> resize(const PixelsView& from, ResizeMethod method, ImageSize size) {
  std::vector<float> samples(std::size_t{size.width} * size.height * from.channels);
  const Status status = Resizer().resize(from, method, dense_pixels(samples.data(), size, from.channels));
  EXPECT_TRUE(status) << status.error().message;
  return samples;
}

// Calls the function for many pairs of sizes, small and large, and for all numbers of channels.
template <typename Check>
void for_each_case(const Check& check) {
  for (const std::uint32_t width : kSides) {
    for (const std::uint32_t height : {1U, 7U, 32U}) {
      for (const std::uint32_t to_width : kSides) {
        for (const std::uint32_t to_height : {1U, 7U, 19U}) {
          for (std::uint32_t channels = 1; channels <= 4; ++channels)
            check(smooth_image({width, height}, channels), ImageSize{to_width, to_height});
        }
      }
    }
  }
}

// The formulas of docs/images.md in double, one sample at a time.
double expected_bilinear(const PixelsView& from, ImageSize to, std::size_t x, std::size_t y, std::size_t i) {
  const auto place = [](std::size_t at, std::uint32_t from_side, std::uint32_t to_side) {
    const double middle = (static_cast<double>(at) + 0.5) * from_side / to_side - 0.5;
    return std::clamp(middle, 0.0, from_side - 1.0);
  };
  const double px = place(x, from.size.width, to.width), py = place(y, from.size.height, to.height);
  double sum = 0;
  for (const double row : {std::floor(py), std::floor(py) + 1}) {
    for (const double column : {std::floor(px), std::floor(px) + 1}) {
      const double weight = (1 - std::abs(px - column)) * (1 - std::abs(py - row));
      if (weight > 0)
        sum += weight *
               from.row(static_cast<std::size_t>(row))[static_cast<std::size_t>(column) * from.channels + i];
    }
  }
  return sum;
}

double expected_area(const PixelsView& from, ImageSize to, std::size_t x, std::size_t y, std::size_t i) {
  const double wide = double{1} * from.size.width / to.width, high = double{1} * from.size.height / to.height;
  const auto shared = [](std::size_t pixel, double begin, double length) {
    const auto at = static_cast<double>(pixel);
    return std::max(0.0, std::min(at + 1, begin + length) - std::max(at, begin));
  };
  double sum = 0;
  for (std::size_t row = 0; row < from.size.height; ++row) {
    for (std::size_t column = 0; column < from.size.width; ++column) {
      sum += from.row(row)[column * from.channels + i] * shared(row, static_cast<double>(y) * high, high) *
             shared(column, static_cast<double>(x) * wide, wide);
    }
  }
  return sum / (wide * high);
}

template <typename Expected>
void expect_near(ResizeMethod method, const Expected& expected) {
  for_each_case([&](const Image& image, ImageSize size) {
    const std::vector<float> resized = resize(image.view(), method, size);
    const std::size_t channels = image.view().channels;
    for (std::size_t at = 0; at < resized.size(); ++at) {
      const std::size_t pixel = at / channels;
      const double sample =
          expected(image.view(), size, pixel % size.width, pixel / size.width, at % channels);
      ASSERT_NEAR(resized[at], sample, 2e-3) << "at " << at << " of " << size.width << " × " << size.height;
    }
  });
}

TEST(Resize, BilinearIsItsFormula) { expect_near(ResizeMethod::kBilinear, expected_bilinear); }
TEST(Resize, AreaIsItsFormula) { expect_near(ResizeMethod::kArea, expected_area); }

// Black and white samples: between them, arithmetic with fewer bits has its largest errors.
Image harsh_image(ImageSize size, std::uint32_t channels) {
  Image image;
  EXPECT_TRUE(image.reshape(size, channels));
  std::mt19937 random(size.width * 64 + size.height);
  for (std::uint32_t y = 0; y < size.height; ++y) {
    std::uint8_t* const row = image.mutable_view().row(y);
    std::generate_n(row, std::size_t{size.width} * channels, [&] { return random() % 2 == 0 ? 0 : 255; });
  }
  return image;
}

void expect_rounded(const PixelsView& from, ResizeMethod method, ImageSize size, float error) {
  Image resized;
  ASSERT_TRUE(resized.reshape(size, from.channels));
  ASSERT_TRUE(Resizer().resize(from, method, resized.mutable_view()));
  const std::vector<float> floats = resize(from, method, size);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const std::uint8_t sample = resized.view().data[i];
    ASSERT_GE(sample, static_cast<std::uint8_t>(floats[i] + 0.5F - error));
    ASSERT_LE(sample, static_cast<std::uint8_t>(floats[i] + 0.5F + error));
  }
}

TEST(Resize, EightBitsAreTheFloatsRounded) {
  for (const auto& [method, error] :
       {std::pair(ResizeMethod::kBilinear, 0.02F), {ResizeMethod::kArea, 0.0F}}) {
    for_each_case([&, method = method, error = error](const Image& image, ImageSize size) {
      expect_rounded(image.view(), method, size, error);
      expect_rounded(harsh_image(image.view().size, image.view().channels).view(), method, size, error);
    });
  }
}

TEST(Resize, WhereAPixelLiesInARowDoesNotChangeIt) {
  // The last samples of a row and its last pixels are computed one by one, the others many at a time.
  const Image image = smooth_image({64, 9}, 3);
  Resizer resizer;
  for (const ResizeMethod method : {ResizeMethod::kBilinear, ResizeMethod::kArea}) {
    Image whole;
    ASSERT_TRUE(whole.reshape({48, 11}, 3));
    ASSERT_TRUE(resizer.resize(image.view(), method, whole.mutable_view()));
    for (const std::uint32_t width : {12U, 16U, 20U}) {
      const ImageSize size = {width / 4 * 3, 11};
      const std::uint32_t inside = size.width - 1;  // the last one may lie between this and the next
      Image part;
      ASSERT_TRUE(part.reshape(size, 3));
      ASSERT_TRUE(resizer.resize(crop(image.view(), {0, 0, {width, 9}}), method, part.mutable_view()));
      EXPECT_EQ(samples_of(crop(part.view(), {0, 0, {inside, 11}})),
                samples_of(crop(whole.view(), {0, 0, {inside, 11}})));
    }
  }
}

TEST(Resize, TheSameSizeIsTheSamePicture) {
  const Image image = smooth_image({23, 9}, 3);
  for (const ResizeMethod method : {ResizeMethod::kBilinear, ResizeMethod::kArea}) {
    Image same;
    ASSERT_TRUE(same.reshape({23, 9}, 3));
    ASSERT_TRUE(Resizer().resize(image.view(), method, same.mutable_view()));
    EXPECT_EQ(samples_of(same.view()), samples_of(image.view()));
  }
}

TEST(Resize, HalvesAreMeans) {
  const Image image = image_of({4, 1}, 1, {0, 10, 20, 40});
  EXPECT_THAT(resize(image.view(), ResizeMethod::kBilinear, {2, 1}), ElementsAre(FloatEq(5), FloatEq(30)));
  EXPECT_THAT(resize(image.view(), ResizeMethod::kArea, {2, 1}), ElementsAre(FloatEq(5), FloatEq(30)));
}

TEST(Resize, OneResizerServesImagesOfAllSizes) {
  Resizer resizer;
  for_each_case([&](const Image& image, ImageSize size) {
    for (const ResizeMethod method : {ResizeMethod::kArea, ResizeMethod::kBilinear}) {
      std::vector<float> samples(std::size_t{size.width} * size.height * image.view().channels);
      ASSERT_TRUE(
          resizer.resize(image.view(), method, dense_pixels(samples.data(), size, image.view().channels)));
      ASSERT_EQ(samples, resize(image.view(), method, size));
    }
  });
}

TEST(Resize, NothingBeyondACropIsReadOrWritten) {
  const Image image = smooth_image({20, 20}, 3);
  const PixelsView part = crop(image.view(), {4, 5, {7, 6}});
  const Image alone = image_of({7, 6}, 3, samples_of(part));
  Image target = image_of({9, 9}, 3, std::vector<std::uint8_t>(9 * 9 * 3, 77));
  ASSERT_TRUE(Resizer().resize(part, ResizeMethod::kBilinear, crop(target.mutable_view(), {2, 3, {4, 4}})));
  Image expected;
  ASSERT_TRUE(expected.reshape({4, 4}, 3));
  ASSERT_TRUE(Resizer().resize(alone.view(), ResizeMethod::kBilinear, expected.mutable_view()));
  EXPECT_EQ(samples_of(crop(target.view(), {2, 3, {4, 4}})), samples_of(expected.view()));
  EXPECT_EQ(samples_of(crop(target.view(), {6, 0, {3, 9}})), std::vector<std::uint8_t>(3 * 9 * 3, 77));
}

TEST(Resize, NoPixelsOrOtherChannelsAreRefused) {
  const Image image = smooth_image({4, 4}, 3);
  std::vector<float> samples(64);
  for (const auto& to : {dense_pixels(samples.data(), {0, 4}, 3), dense_pixels(samples.data(), {4, 4}, 1)}) {
    const Status status = Resizer().resize(image.view(), ResizeMethod::kBilinear, to);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace headrace

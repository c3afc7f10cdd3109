#include "headrace/stream/augmentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace headrace::augmentation_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

constexpr std::uint64_t kSeed = 44;
constexpr std::uint64_t kDraws = 1000;

using Row = std::vector<float>;

// Each sample is its own number.
std::vector<std::uint8_t> numbers(std::uint8_t count) {
  std::vector<std::uint8_t> row(count);
  for (std::uint8_t i = 0; i < count; ++i) row[i] = i;
  return row;
}

template <typename Sample>
Row augmented(std::vector<Sample> samples, ImageSize size, std::uint32_t channels,
              const std::vector<Augmentation>& augmentations, std::uint64_t position) {
  Pixels<Sample> pixels = dense_pixels(samples.data(), size, channels);
  augment(augmentations, kSeed, {.epoch = 1, .position = position}, pixels);
  Row out;
  for (std::size_t y = 0; y < pixels.size.height; ++y)
    out.insert(out.end(), pixels.row(y), pixels.row(y) + pixels.row_samples());
  return out;
}

// docs/formats/augmentation.md, "Test vectors".
TEST(Augmentation, GivesThePublishedDraws) {
  EXPECT_EQ(augmentation_draw(44, {0, 0}, 0), 10205467661761070376U);
  EXPECT_EQ(augmentation_draw(44, {0, 1}, 0), 5305385028889186567U);
  EXPECT_EQ(augmentation_draw(44, {7, 123'456'789}, 2), 12540414437461031697U);
}

TEST(Augmentation, AFlipMirrorsHalfOfTheImages) {
  std::uint64_t flipped = 0;
  for (std::uint64_t position = 0; position < kDraws; ++position) {
    const auto row = augmented(numbers(6), {2, 1}, 3, {Flip{}}, position);
    const bool is_flipped = row[0] == 3;
    if (is_flipped) {
      EXPECT_THAT(row, ElementsAre(3, 4, 5, 0, 1, 2));
    } else {
      EXPECT_THAT(row, ElementsAre(0, 1, 2, 3, 4, 5));
    }
    flipped += is_flipped ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(flipped), kDraws / 2.0, 60);
}

TEST(Augmentation, ACropIsAnyPartOfTheSize) {
  std::set<Row> parts;
  for (std::uint64_t position = 0; position < kDraws; ++position)
    parts.insert(augmented(numbers(12), {4, 3}, 1, {Crop{{3, 2}}}, position));
  // Two places down, and two to the right.
  EXPECT_THAT(parts, ElementsAre(Row{0, 1, 2, 4, 5, 6}, Row{1, 2, 3, 5, 6, 7}, Row{4, 5, 6, 8, 9, 10},
                                 Row{5, 6, 7, 9, 10, 11}));
  EXPECT_THAT(augmented(numbers(4), {2, 2}, 1, {Crop{{2, 2}}}, 0), ElementsAre(0, 1, 2, 3));
}

TEST(Augmentation, OneAfterTheOtherDrawsForItself) {
  std::set<Row> rows;
  for (std::uint64_t position = 0; position < kDraws; ++position)
    rows.insert(augmented(numbers(3), {3, 1}, 1, {Flip{}, Crop{{2, 1}}, Flip{}}, position));
  EXPECT_THAT(rows, ElementsAre(Row{0, 1}, Row{1, 0}, Row{1, 2}, Row{2, 1}));
}

TEST(Augmentation, BrightnessAddsOneNumberToColorsAndStaysInRange) {
  float least = 0, most = 0;
  for (std::uint64_t position = 0; position < kDraws; ++position) {
    const auto row = augmented<float>({100, 50, 7, 101, 60, 8}, {2, 1}, 3, {Brightness{0.02F}}, position);
    const float added = row[0] - 100;
    EXPECT_THAT(row, ElementsAre(FloatNear(100 + added, 1e-4F), FloatNear(50 + added, 1e-4F),
                                 FloatNear(7 + added, 1e-4F), FloatNear(101 + added, 1e-4F),
                                 FloatNear(60 + added, 1e-4F), FloatNear(8 + added, 1e-4F)));
    least = std::min(least, added), most = std::max(most, added);
    const auto extreme = augmented<std::uint8_t>({0, 77, 255, 77}, {2, 1}, 2, {Brightness{1}}, position);
    EXPECT_EQ(extreme[1], 77) << "alpha";
    EXPECT_EQ(extreme[3], 77) << "alpha";
    EXPECT_TRUE(extreme[0] == 0 || extreme[2] == 255);
  }
  EXPECT_GE(least, -5.1F);
  EXPECT_LE(most, 5.1F);
  EXPECT_NEAR(least, -5.1F, 0.1F);
  EXPECT_NEAR(most, 5.1F, 0.1F);
}

TEST(Augmentation, ContrastScalesAroundEachChannelsMean) {
  const Row grey = augmented<float>({100, 10, 140, 30}, {2, 1}, 2, {Contrast{2, 2}}, 5);
  EXPECT_THAT(grey, ElementsAre(80, 10, 160, 30));
  EXPECT_THAT(augmented<std::uint8_t>({10, 200, 30, 100, 5, 30}, {2, 1}, 3, {Contrast{0, 0}}, 5),
              ElementsAre(55, 103, 30, 55, 103, 30));
  for (std::uint64_t position = 0; position < kDraws; ++position) {
    const auto row = augmented<float>({100, 140}, {2, 1}, 1, {Contrast{0.5F, 1.5F}}, position);
    EXPECT_GE(row[1] - row[0], 20);
    EXPECT_LE(row[1] - row[0], 60);
  }
  EXPECT_THAT(augmented<std::uint8_t>({0, 255, 0, 255}, {4, 1}, 1, {Contrast{9, 9}}, 1),
              ElementsAre(0, 255, 0, 255));
}

}  // namespace
}  // namespace headrace::augmentation_test

#include "headrace/stream/augmentation_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(AugmentationNames, AreReadInTheirOrder) {
  const auto all = parse_augmentations("--augment", "flip, crop=140x100,brightness=0.5,contrast=0.75:1.5");
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 4U);
  EXPECT_TRUE(std::holds_alternative<Flip>((*all)[0]));
  EXPECT_EQ(std::get<Crop>((*all)[1]).size, (ImageSize{.width = 100, .height = 140}));
  EXPECT_EQ(std::get<Brightness>((*all)[2]).delta, 0.5F);
  EXPECT_EQ(std::get<Contrast>((*all)[3]).lower, 0.75F);
  EXPECT_EQ(std::get<Contrast>((*all)[3]).upper, 1.5F);
  EXPECT_TRUE(parse_augmentations("--augment", "")->empty());
}

TEST(AugmentationNames, WhatIsNoneIsNamed) {
  for (const char* const text :
       {"flop", "flip=1", "crop", "crop=140", "crop=0x1", "brightness=2", "brightness", "contrast=1",
        "contrast=2:1", "contrast=0:1001", "flip,,flip", ","}) {
    const auto none = parse_augmentations("--augment", text);
    ASSERT_FALSE(none) << text;
    EXPECT_EQ(none.error().code, Code::kInvalidArgument);
    EXPECT_THAT(none.error().message, testing::HasSubstr("--augment"));
    EXPECT_THAT(none.error().message, testing::HasSubstr("crop=HEIGHTxWIDTH"));
  }
}

TEST(AugmentationNames, TheLastCropDecidesTheSize) {
  EXPECT_EQ(crop_size(*parse_augmentations("", "flip")), std::nullopt);
  EXPECT_EQ(crop_size(*parse_augmentations("", "crop=9x8,crop=5x4")), (ImageSize{.width = 4, .height = 5}));
}

}  // namespace
}  // namespace headrace

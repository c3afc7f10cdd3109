#include "headrace/serve/batch/row_layout.h"

#include <gmock/gmock.h>

#include <cstring>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const RowTensor kPair{DataType::kFloat32, {2}};
const RowTensor kText{DataType::kBytes, {}};

TEST(BatchLayout, RegionsAreAlignedAndTextsComeLast) {
  const BatchLayout layout({kPair, {DataType::kInt64, {}}, kText}, 3, 100);
  EXPECT_EQ(layout.row_bytes(0), 8U);
  EXPECT_EQ(layout.row_bytes(2), sizeof(TextPlace));
  EXPECT_EQ(layout.offset(0), 0U);
  EXPECT_EQ(layout.offset(1), 64U);
  EXPECT_EQ(layout.offset(2), 128U);
  EXPECT_EQ(layout.texts_offset(), 192U);
  EXPECT_EQ(layout.size_bytes(), 292U);
}

TEST(BatchLayout, LargerThanFourGigabytesIsRefused) {
  EXPECT_TRUE(check_layout({kPair}, 1000, 0));
  EXPECT_FALSE(check_layout({{DataType::kFloat32, {1 << 28}}}, 4, 0));
  EXPECT_FALSE(check_layout({{DataType::kFloat32, {1 << 30, 1 << 30, 1 << 30}}}, 1, 0));
  EXPECT_FALSE(check_layout({{DataType::kFloat32, {0, 1 << 30}}, {DataType::kInt64, {1 << 29}}}, 1, 0));
  EXPECT_FALSE(check_layout({{DataType::kFloat32, {1, 1, 1, 1, 1, 1, 1, 1}}}, 1, 0));
}

TEST(BatchLayout, TensorsAreTheFirstRows) {
  const BatchLayout layout({kPair, kText}, 3, 10);
  Bytes memory(layout.size_bytes());
  const float numbers[] = {1, 2, 3, 4};
  std::memcpy(memory.data(), numbers, sizeof numbers);
  const TextPlace places[] = {{0, 3}, {3, 0}};
  std::memcpy(memory.data() + layout.offset(1), places, sizeof places);
  std::memcpy(memory.data() + layout.texts_offset(), "abc", 3);
  std::vector<std::vector<std::string_view>> views;
  const auto tensors = tensors_of(layout, memory, 2, views);
  ASSERT_TRUE(tensors);
  EXPECT_EQ((*tensors)[0].shape, Shape({2, 2}));
  EXPECT_EQ(static_cast<const float*>((*tensors)[0].data)[3], 4);
  EXPECT_EQ((*tensors)[1].shape, Shape({2}));
  EXPECT_THAT((*tensors)[1].strings, ElementsAre("abc", ""));
}

TEST(BatchLayout, TextsOutsideTheirRegionAreRefused) {
  const BatchLayout layout({kText}, 1, 10);
  for (const TextPlace place : {TextPlace{8, 3}, TextPlace{11, 0}, TextPlace{0xffffffff, 0xffffffff}}) {
    Bytes memory(layout.size_bytes());
    std::memcpy(memory.data(), &place, sizeof place);
    std::vector<std::vector<std::string_view>> views;
    const auto tensors = tensors_of(layout, memory, 1, views);
    ASSERT_FALSE(tensors);
    EXPECT_THAT(tensors.error().message, HasSubstr("text 0 of input 0 lies outside"));
  }
}

}  // namespace
}  // namespace headrace

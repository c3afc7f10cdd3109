#include "headrace/engine/tensor_cast.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename From>
Tensor cast_of(const std::vector<From>& values, DataType to) {
  auto out = cast_tensor("x", TensorView::of(values.data(), {static_cast<std::int64_t>(values.size())}), to);
  EXPECT_TRUE(out) << out.error().message;
  return out ? *std::move(out) : Tensor();
}

// Casts there and back again.
std::vector<float> as_floats(const std::vector<float>& values, DataType through) {
  const Tensor cast = cast_of(values, through);
  EXPECT_EQ(cast.type(), through);
  const auto back = cast_tensor("x", cast.view(), DataType::kFloat32);
  EXPECT_TRUE(back) << back.error().message;
  const auto floats = back->values<float>();
  return {floats.begin(), floats.end()};
}

TEST(CastTensor, KeepsShapeAndValues) {
  const std::vector<std::int64_t> values = {-128, 0, 5, 127};
  const auto cast = cast_tensor("x", TensorView::of(values.data(), {2, 2}), DataType::kInt8);
  ASSERT_TRUE(cast);
  EXPECT_EQ(cast->shape(), (Shape{2, 2}));
  EXPECT_THAT(cast->values<std::int8_t>(), ElementsAre(-128, 0, 5, 127));
  EXPECT_THAT(cast_of(values, DataType::kFloat64).values<double>(), ElementsAre(-128, 0, 5, 127));
  EXPECT_THAT(cast_of(values, DataType::kBool).values<bool>(), ElementsAre(true, false, true, true));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cast->data()) % kTensorAlignment, 0U);
}

TEST(CastTensor, RefusesIntegersThatDoNotFit) {
  const std::vector<std::int64_t> values = {1, 5'000'000'000};
  const auto cast = cast_tensor("the input age", TensorView::of(values.data(), {2}), DataType::kInt32);
  ASSERT_FALSE(cast);
  EXPECT_EQ(cast.error().code, Code::kInvalidArgument);
  EXPECT_EQ(cast.error().message, "the value 5000000000 of the input age does not fit int32");
  const std::vector<std::int64_t> negative = {-1};
  EXPECT_FALSE(cast_tensor("x", TensorView::of(negative.data(), {1}), DataType::kUint64));
}

TEST(CastTensor, RefusesFloatsAsIntegersAndTypesWithoutNumbers) {
  const std::vector<float> values = {1};
  EXPECT_FALSE(cast_tensor("x", TensorView::of(values.data(), {1}), DataType::kInt64));
  const auto complex = cast_tensor("x", TensorView::of(values.data(), {1}), DataType::kComplex64);
  ASSERT_FALSE(complex);
  EXPECT_EQ(complex.error().code, Code::kUnimplemented);
  EXPECT_THAT(complex.error().message, HasSubstr("complex64"));
}

TEST(CastTensor, RoundsToFloat16AsIeee754Says) {
  // Rounding to nearest, ties to even; the largest number; a number that is too large; subnormal numbers,
  // down to the smallest, 2^-24.
  EXPECT_THAT(as_floats({1.0F, 1.0F + 0x1p-11F, 1.0F + 0x3p-11F, -0.1F}, DataType::kFloat16),
              ElementsAre(1.0F, 1.0F, 1.0F + 0x1p-9F, -0.0999755859375F));
  EXPECT_THAT(as_floats({65504, 65519, 65520, -1e9F}, DataType::kFloat16),
              ElementsAre(65504, 65504, std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()));
  EXPECT_THAT(as_floats({0x1p-24F, 0x1p-25F, 0x3p-25F, 0x1p-14F, 0}, DataType::kFloat16),
              ElementsAre(0x1p-24F, 0, 0x1p-23F, 0x1p-14F, 0));
  EXPECT_TRUE(std::isnan(as_floats({std::nanf("")}, DataType::kFloat16)[0]));
}

TEST(CastTensor, RoundsToBfloat16) {
  EXPECT_THAT(as_floats({1.0F, 1.0F + 0x1p-8F, 1.0F + 0x3p-8F, -3e38F}, DataType::kBfloat16),
              ElementsAre(1.0F, 1.0F, 1.0F + 0x1p-6F, -226 * 0x1p120F));
  EXPECT_TRUE(std::isnan(as_floats({std::nanf("")}, DataType::kBfloat16)[0]));
  EXPECT_TRUE(std::isinf(as_floats({std::numeric_limits<float>::infinity()}, DataType::kBfloat16)[0]));
}

TEST(CastTensor, TakesEmptyTensors) {
  EXPECT_TRUE(cast_of(std::vector<std::int64_t>{}, DataType::kInt32).values<std::int32_t>().empty());
}

}  // namespace
}  // namespace headrace

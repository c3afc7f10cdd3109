#include "headrace/engine/use/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "headrace/engine/use/aligned_floats.h"
#include "headrace/engine/use/tanh.h"

namespace headrace {
namespace {

std::vector<InstructionSet> supported_sets() {
  std::vector<InstructionSet> sets;
  for (const auto set : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (is_supported(set)) sets.push_back(set);
  }
  return sets;
}

AlignedFloats random_floats(std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  AlignedFloats floats(size);
  for (std::size_t i = 0; i < size; ++i) {
    floats.data()[i] = static_cast<float>(generator()) / 4294967296.0F - 0.5F;
  }
  return floats;
}

TEST(Kernels, MultiplyIsOneChainOfFusedMultiplyAddsForEachElement) {
  constexpr std::size_t kInner = 37, kStride = 40, kColumns = 64;
  const AlignedFloats b = random_floats(kInner * kColumns, 1);
  for (const std::size_t rows : {1, 5, 14, 130}) {
    const AlignedFloats a = random_floats((rows + kRowSlack) * kStride, 2);
    for (const InstructionSet set : supported_sets()) {
      AlignedFloats c((rows + kRowSlack) * kColumns);
      kernels(set).multiply({a.data(), rows, kInner, kStride}, b.data(), kColumns, c.data(), kColumns);
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t column = 0; column < kColumns; ++column) {
          const float* panel =
              b.data() + column / kPanelColumns * kPanelColumns * kInner + column % kPanelColumns;
          float expected = 0;
          for (std::size_t k = 0; k < kInner; ++k) {
            expected = std::fma(a.data()[row * kStride + k], panel[k * kPanelColumns], expected);
          }
          ASSERT_EQ(c.data()[row * kColumns + column], expected) << rows << " " << row << " " << column;
        }
      }
    }
  }
}

TEST(Kernels, NormaliseToMeanZeroAndVarianceOne) {
  constexpr std::size_t kSize = 256;
  const std::vector<float> ones(kSize, 1), zeros(kSize, 0);
  for (const InstructionSet set : supported_sets()) {
    AlignedFloats row = random_floats(kSize, 3);
    kernels(set).add_and_normalise(ones.data(), {ones.data(), zeros.data(), 1e-9F}, kSize, row.data());
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < kSize; ++i) sum += row.data()[i], squares += row.data()[i] * row.data()[i];
    EXPECT_NEAR(sum / kSize, 0, 1e-6);
    EXPECT_NEAR(squares / kSize, 1, 1e-5);
  }
}

TEST(Kernels, GiveTheSameBitsWithEveryInstructionSet) {
  constexpr std::size_t kSize = 1280;
  const AlignedFloats x = random_floats(kSize, 4), y = random_floats(kSize, 5), z = random_floats(kSize, 6);
  const std::vector<std::uint8_t> codes(kSize, 77);
  std::vector<std::vector<float>> results;
  for (const InstructionSet set : supported_sets()) {
    std::vector<float> normalised(x.data(), x.data() + kSize), summed(kSize), dequantised(kSize);
    kernels(set).add_and_normalise(z.data(), {y.data(), z.data(), 1e-3F}, kSize, normalised.data());
    const float* parts[] = {x.data(), y.data(), normalised.data()};
    kernels(set).sum_relu_add(parts, 3, z.data(), y.data(), kSize, summed.data());
    kernels(set).dequantise(codes.data(), 0.1F, -3.7F, kSize, dequantised.data());
    kernels(set).accumulate(dequantised.data(), kSize, summed.data());
    results.push_back(summed);
    EXPECT_EQ(results.back(), results.front());
  }
}

TEST(Tanh, IsWithinOneUnitOfTheMathematicalFunction) {
  for (float x = -12; x < 12; x += 0.0037F) {
    EXPECT_NEAR(portable_tanh(x), std::tanh(static_cast<double>(x)), 6e-8) << x;
  }
  EXPECT_EQ(portable_tanh(0), 0);
  EXPECT_EQ(portable_tanh(1e9F), 1);
  EXPECT_EQ(portable_tanh(-INFINITY), -1);
}

}  // namespace
}  // namespace headrace

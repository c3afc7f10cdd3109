#include "headrace/stream/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace headrace {
namespace {

using testing::ElementsAre;

std::vector<std::size_t> first_sources(const Mixture& mixture, std::size_t count) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(mixture.at(i).source);
  return out;
}

TEST(Mixture, OfOneSourceIsThatSource) {
  const Mixture mixture({5});
  EXPECT_EQ(mixture.at(12), (Mixture::Draw{0, 12}));
  EXPECT_EQ(mixture.count_before(0, 12), 12U);
}

// The expected values are part of the format: docs/formats/order.md.
TEST(Mixture, SpreadsSourcesEvenly) {
  EXPECT_THAT(first_sources(Mixture(mixture_weights(std::vector{0.7, 0.3})), 10),
              ElementsAre(0, 1, 0, 0, 1, 0, 0, 0, 1, 0));
  EXPECT_THAT(first_sources(Mixture({1, 1, 1}), 9), ElementsAre(0, 2, 1, 0, 2, 1, 0, 2, 1));
  EXPECT_THAT(first_sources(Mixture({1, 1, 1, 1}), 8), ElementsAre(0, 2, 1, 3, 0, 2, 1, 3));
}

TEST(Mixture, WeightsBecomeIntegersOfAtLeastOne) {
  EXPECT_THAT(mixture_weights(std::vector{0.5, 1.0, 1e-12}), ElementsAre(524'288, 1'048'576, 1));
  EXPECT_THAT(mixture_weights(std::vector{3.0, 3.0}), ElementsAre(1'048'576, 1'048'576));
}

TEST(Mixture, EverySourceGetsItsPositionsInOrderAndItsShare) {
  std::mt19937_64 random(44);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> weights(1 + random() % 20);
    for (std::uint64_t& weight : weights) weight = 1 + random() % (1 << 20);
    const Mixture mixture(weights);
    const std::uint64_t start = random() % 3 == 0 ? random() >> 8 : 0;
    std::vector<std::uint64_t> next;
    for (std::size_t s = 0; s < weights.size(); ++s) next.push_back(mixture.count_before(s, start));
    for (std::uint64_t p = start; p < start + 500; ++p) {
      const Mixture::Draw draw = mixture.at(p);
      ASSERT_EQ(draw.position, next[draw.source]++);
      ASSERT_EQ(mixture.count_before(draw.source, p + 1), next[draw.source]);
    }
    const double levels = std::ceil(std::log2(weights.size() + 1)) + 1;
    for (std::size_t s = 0; s < weights.size() && start == 0; ++s) {
      const double share =
          500.0 * static_cast<double>(weights[s]) / static_cast<double>(mixture.total_weight());
      EXPECT_NEAR(static_cast<double>(next[s]), share, levels);
    }
  }
}

}  // namespace
}  // namespace headrace

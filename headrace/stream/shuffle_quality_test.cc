#include "headrace/stream/shuffle_quality.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

ShuffleQuality quality_of(const std::shared_ptr<const Dataset>& dataset, ShuffleMode mode,
                          std::uint64_t window_bytes) {
  std::vector<std::string> remarks;
  auto source =
      Source::create(dataset, {.mode = mode, .seed = 44, .window_bytes = window_bytes}, {}, remarks);
  EXPECT_TRUE(source);
  return shuffle_quality(**source, 1, 1000, 44);
}

TEST_F(LoaderTest, ShuffleQualityTellsOrdersApart) {
  publish({500, 500, 500}, 10, true);
  const auto dataset = open();
  const ShuffleQuality none = quality_of(dataset, ShuffleMode::kNone, 0);
  EXPECT_EQ(none.displacement, 0);
  EXPECT_LT(none.spread, 0.01);
  const ShuffleQuality narrow = quality_of(dataset, ShuffleMode::kWindow, 1000);
  EXPECT_NEAR(narrow.displacement, 1, 0.1);
  EXPECT_LT(narrow.spread, 0.8);
  for (const ShuffleQuality& full : {quality_of(dataset, ShuffleMode::kWindow, 1 << 30),
                                     quality_of(dataset, ShuffleMode::kExact, 1 << 20)}) {
    EXPECT_NEAR(full.displacement, 1, 0.1);
    EXPECT_NEAR(full.spread, 1, 0.1);
  }
}

}  // namespace
}  // namespace headrace

#include "headrace/stream/record_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class RecordWeights : public LoaderTest {
 protected:
  // The error about a batch with these weights. The last of its four rows is not a record.
  template <typename T>
  std::string check(const std::vector<T>& values) {
    publish({7}, 0);
    LoaderOptions options{.columns = {{.name = "x", .length = kWidth}}};
    options.batch_size = 4;
    options.shuffle = ShuffleMode::kNone;
    const auto loader = *BatchLoader::create({{.dataset = *Dataset::open(location, {})}}, options);
    EXPECT_TRUE(*loader->next());
    const Batch batch = **loader->next();
    EXPECT_EQ(batch.records, 3U);
    const TensorView view = TensorView::of(values.data(), {4});
    const Status checked = check_record_weights({.name = "cost", .type = view.type}, view, batch, *loader);
    return checked ? "" : checked.error().message;
  }
};

TEST_F(RecordWeights, AreFiniteAndNotBelowZero) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(check<float>({0, 0.5F, 1e30F, 1}), "");
  EXPECT_EQ(check<std::int64_t>({0, 1, 2, 3}), "");
  EXPECT_THAT(check<float>({0, -0.5F, 1, 1}),
              HasSubstr("the weight cost of record 5 of memory://test/data/"));
  EXPECT_THAT(check<float>({0, -0.5F, 1, 1}), HasSubstr("is -0.5; weights are finite"));
  EXPECT_THAT(check<float>({kNan, 1, 1, 1}), HasSubstr("record 4 of"));
  EXPECT_THAT(check<std::int64_t>({1, 1, -7, 1}), HasSubstr("is -7"));
}

TEST_F(RecordWeights, OfRowsThatAreNoRecordDoNotCount) {
  EXPECT_EQ(check<float>({0, 0, 0, std::numeric_limits<float>::infinity()}), "");
}

}  // namespace
}  // namespace headrace

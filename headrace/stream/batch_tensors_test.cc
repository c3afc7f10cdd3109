#include "headrace/stream/batch_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::Field;

// A batch of three rows: two numbers, a whole number and a text in each.
class BatchTensorsTest : public testing::Test {
 protected:
  BatchTensorsTest() {
    std::vector<BatchColumn> columns;
    for (const Column& column : tensors.columns()) columns.push_back(batch_column(column));
    batch = BatchPool::create(columns, 3)->take();
    batch.rows = batch.records = 3;
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    const std::int64_t whole[] = {7, 8, 9};
    std::memcpy(batch.column(0), numbers, sizeof numbers);
    std::memcpy(batch.column(1), whole, sizeof whole);
    VariableColumn& texts = batch.variable(2);
    texts.bytes.resize(5);
    std::memcpy(texts.bytes.data(), "abcde", 5);
    texts.byte_offsets = {0, 2, 2, 5};
  }

  BatchTensors tensors{{{.name = "x", .type = DataType::kFloat32, .shape = {2}},
                        {.name = "n", .type = DataType::kInt64},
                        {.name = "t", .type = DataType::kBytes},
                        {.name = "x", .type = DataType::kFloat32, .shape = {2}}}};
  Batch batch;
};

TEST_F(BatchTensorsTest, EachFeatureIsReadOnce) {
  EXPECT_THAT(tensors.columns(),
              ElementsAre(Field(&Column::name, "x"), Field(&Column::name, "n"), Field(&Column::name, "t")));
  EXPECT_EQ(tensors.columns()[0].length, 2U);
  EXPECT_EQ(tensors.columns()[1].length, 1U);
  EXPECT_EQ(tensors.columns()[2].type, DataType::kBytes);
}

TEST_F(BatchTensorsTest, ARecordMayLackAnOptionalFeature) {
  const BatchTensors optional({{.name = "n", .type = DataType::kInt64, .is_optional = true}});
  EXPECT_FALSE(optional.columns()[0].required);
  EXPECT_TRUE(tensors.columns()[1].required);
  EXPECT_THAT(tensors.columns()[1].advice, testing::HasSubstr("--on-corrupt skip-record"));
}

TEST_F(BatchTensorsTest, TensorsViewTheBatch) {
  const auto views = *tensors.view(batch, 3);
  ASSERT_EQ(views.size(), 4U);
  EXPECT_EQ(views[0].data, batch.column(0));
  EXPECT_EQ(views[0].shape, (Shape{3, 2}));
  EXPECT_EQ(views[1].data, batch.column(1));
  EXPECT_EQ(views[1].type, DataType::kInt64);
  EXPECT_EQ(views[1].shape, (Shape{3}));
  EXPECT_EQ(views[2].shape, (Shape{3}));
  EXPECT_THAT(views[2].strings, ElementsAre("ab", "", "cde"));
  EXPECT_EQ(views[3].data, views[0].data) << "a label may be an input, too";
}

TEST_F(BatchTensorsTest, FewerRowsAreTheFirstOnes) {
  const auto views = *tensors.view(batch, 2);
  EXPECT_EQ(views[0].shape, (Shape{2, 2}));
  EXPECT_EQ(views[1].shape, (Shape{2}));
  EXPECT_THAT(views[2].strings, ElementsAre("ab", ""));
}

// Three rows of any number of values: 1 2 3, none, 4.
class FilledTensorsTest : public testing::Test {
 protected:
  static ModelFeature ragged(std::int64_t size, DataType type = DataType::kInt64) {
    return {.name = "n", .type = type, .shape = {size}, .is_ragged = true};
  }

  static Batch batch_of(const BatchTensors& tensors) {
    const Batch batch = BatchPool::create({batch_column(tensors.columns().front())}, 3)->take();
    VariableColumn& column = batch.variable(0);
    column.integers = {1, 2, 3, 4};
    column.bytes.resize(4);
    std::memcpy(column.bytes.data(), "abcd", 4);
    column.byte_offsets = {0, 1, 2, 3, 4};
    column.row_offsets = {0, 3, 3, 4};
    return batch;
  }

  template <typename Value>
  static std::vector<Value> values(const TensorView& view) {
    const auto* first = static_cast<const Value*>(view.data);
    return {first, first + view.shape.elements()};
  }
};

TEST_F(FilledTensorsTest, RowsAreFilledUpToTheLongestOfTheBatch) {
  BatchTensors tensors({ragged(-1)});
  EXPECT_FALSE(tensors.columns().front().length);
  const Batch batch = batch_of(tensors);
  const auto all = *tensors.view(batch, 3);
  EXPECT_EQ(all[0].shape, (Shape{3, 3}));
  EXPECT_THAT(values<std::int64_t>(all[0]), ElementsAre(1, 2, 3, 0, 0, 0, 4, 0, 0));
  BatchTensors empty({ragged(-1)});
  Batch second = batch_of(empty);
  second.variable(0).row_offsets = {0, 0, 0, 0};
  EXPECT_EQ((*empty.view(second, 3))[0].shape, (Shape{3, 1})) << "no model takes rows of no values";
}

TEST_F(FilledTensorsTest, RowsAreCutToWhatTheModelTakes) {
  BatchTensors tensors({ragged(2), ragged(4)});
  const Batch batch = batch_of(tensors);
  const auto views = *tensors.view(batch, 3);
  EXPECT_EQ(views[0].shape, (Shape{3, 2}));
  EXPECT_THAT(values<std::int64_t>(views[0]), ElementsAre(1, 2, 0, 0, 4, 0));
  EXPECT_THAT(values<std::int64_t>(views[1]), ElementsAre(1, 2, 3, 0, 0, 0, 0, 0, 4, 0, 0, 0));
}

TEST_F(FilledTensorsTest, AMaskTellsValuesFromWhatIsFilledIn) {
  ModelFeature mask = ragged(-1);
  mask.is_mask = true;
  BatchTensors tensors({ragged(-1), mask});
  EXPECT_EQ(tensors.columns().size(), 1U) << "it is read once";
  const Batch batch = batch_of(tensors);
  const auto views = *tensors.view(batch, 3);
  EXPECT_EQ(views[1].type, DataType::kFloat32);
  EXPECT_THAT(values<float>(views[1]), ElementsAre(1, 1, 1, 0, 0, 0, 1, 0, 0));
}

TEST_F(FilledTensorsTest, StringsAreFilledUpWithEmptyOnes) {
  BatchTensors tensors({ragged(2, DataType::kBytes)});
  const Batch batch = batch_of(tensors);
  EXPECT_THAT((*tensors.view(batch, 3))[0].strings, ElementsAre("a", "b", "", "", "d", ""));
}

TEST_F(FilledTensorsTest, TheMaskOfAnOptionalFeatureTellsWhetherItIsThere) {
  ModelFeature value{.name = "n", .type = DataType::kInt64, .is_optional = true};
  ModelFeature mask = value;
  mask.is_mask = true;
  BatchTensors tensors({value, mask});
  EXPECT_FALSE(tensors.columns().front().length);
  EXPECT_EQ(tensors.columns().front().count_if_present, 1U) << "the decoder refuses other records";
  Batch batch = batch_of(tensors);
  batch.variable(0).row_offsets = {0, 1, 1, 2};
  const auto views = *tensors.view(batch, 3);
  EXPECT_EQ(views[0].shape, (Shape{3}));
  EXPECT_THAT(values<std::int64_t>(views[0]), ElementsAre(1, 0, 2));
  EXPECT_EQ(views[1].shape, (Shape{3}));
  EXPECT_THAT(values<float>(views[1]), ElementsAre(1, 0, 1));
}

TEST_F(FilledTensorsTest, RowsThatWouldTakeTooMuchMemoryAreAnError) {
  BatchTensors tensors({ragged(std::int64_t{1} << 29)});
  const auto views = tensors.view(batch_of(tensors), 3);
  ASSERT_FALSE(views);
  EXPECT_EQ(views.error().code, Code::kResourceExhausted);
  EXPECT_THAT(views.error().message, testing::HasSubstr("3 rows of n filled up to 536870912 values each"));
}

TEST_F(FilledTensorsTest, TheLimitCountsEachTypesBytesAndAllFeatures) {
  constexpr std::int64_t kRowBytes = (std::int64_t{1} << 30) / 3;
  const auto fits = [&](const std::vector<ModelFeature>& features) {
    BatchTensors tensors(features);
    return tensors.view(batch_of(tensors), 3).has_value();
  };
  EXPECT_FALSE(fits({ragged(kRowBytes / 40 + 1, DataType::kBytes)}));
  EXPECT_FALSE(fits({ragged(kRowBytes / 8 + 1)}));
  ModelFeature mask = ragged(kRowBytes / 4 + 1);
  mask.is_mask = true;
  EXPECT_FALSE(fits({mask}));
  const ModelFeature small = ragged(2), rest = ragged(kRowBytes / 8);
  EXPECT_TRUE(fits({small, small}));
  EXPECT_FALSE(fits({small, rest})) << "either would fit";
}

}  // namespace
}  // namespace headrace

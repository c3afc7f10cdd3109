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
  const auto views = tensors.view(batch, 3);
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
  const auto views = tensors.view(batch, 2);
  EXPECT_EQ(views[0].shape, (Shape{2, 2}));
  EXPECT_EQ(views[1].shape, (Shape{2}));
  EXPECT_THAT(views[2].strings, ElementsAre("ab", ""));
}

}  // namespace
}  // namespace headrace

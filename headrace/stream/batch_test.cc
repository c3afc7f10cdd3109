#include "headrace/stream/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Row r holds r and −r in the first column, r values in each ragged column, and the strings "r" or r letters.
class BatchRows : public testing::Test {
 protected:
  static constexpr std::size_t kRows = 5;

  BatchRows() {
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto number = static_cast<std::int64_t>(row);
      const std::int64_t pair[] = {number, -number};
      std::memcpy(batch.column(0) + row * sizeof(pair), pair, sizeof(pair));
      batch.variable(1).floats.insert(batch.variable(1).floats.end(), row, static_cast<float>(row));
      texts.push_back(std::to_string(row));
      texts.push_back(std::string(row, 'x'));
      lists.insert(lists.end(), row, std::string(row, 'y'));
      for (const std::size_t column : {1, 3}) {
        auto& offsets = batch.variable(column).row_offsets;
        if (row == 0) offsets.push_back(0);
        offsets.push_back(offsets.back() + number);
      }
      batch.weights()[row] = 1;
    }
    gather(batch.variable(2), texts);
    gather(batch.variable(3), lists);
    batch.records = kRows;
  }

  static void gather(VariableColumn& column, const std::vector<std::string>& strings) {
    column.byte_offsets = {0};
    std::string all;
    for (const std::string& text : strings) {
      all += text;
      column.byte_offsets.push_back(static_cast<std::int64_t>(all.size()));
    }
    column.bytes.resize(all.size());
    std::memcpy(column.bytes.data(), all.data(), all.size());
  }
  std::vector<std::string> strings(std::size_t column) const {
    const ColumnData data = batch.data(column);
    std::vector<std::string> out;
    for (std::size_t i = 0; i + 1 < data.byte_offsets.size(); ++i)
      out.emplace_back(reinterpret_cast<const char*>(data.values) + data.byte_offsets[i],
                       data.byte_offsets[i + 1] - data.byte_offsets[i]);
    return out;
  }
  void lose(std::initializer_list<std::size_t> rows) {
    for (const std::size_t row : rows) batch.weights()[row] = 0;
    batch.records -= rows.size();
  }
  std::vector<std::int64_t> pairs() const {
    const auto* values = reinterpret_cast<const std::int64_t*>(batch.column(0));
    return {values, values + 2 * batch.rows};
  }
  std::vector<std::int64_t> row_offsets(std::size_t column) const {
    const auto offsets = batch.data(column).row_offsets;
    return {offsets.begin(), offsets.end()};
  }

  std::shared_ptr<BatchPool> pool = BatchPool::create({{DataType::kInt64, 2},
                                                       {DataType::kFloat32, std::nullopt},
                                                       {DataType::kBytes, 2},
                                                       {DataType::kBytes, std::nullopt}},
                                                      kRows);
  Batch batch = pool->take();
  std::vector<std::string> texts, lists;
};

TEST_F(BatchRows, WithoutARecordAreDroppedFromEveryColumn) {
  lose({0, 2, 4});
  batch.drop_rows_without_record();
  EXPECT_EQ(batch.rows, 2U);
  EXPECT_THAT(pairs(), ElementsAre(1, -1, 3, -3));
  EXPECT_THAT(batch.variable(1).floats, ElementsAre(1, 3, 3, 3));
  EXPECT_THAT(row_offsets(1), ElementsAre(0, 1, 4));
  EXPECT_THAT(strings(2), ElementsAre("1", "x", "3", "xxx"));
  EXPECT_THAT(strings(3), ElementsAre("y", "yyy", "yyy", "yyy"));
  EXPECT_THAT(row_offsets(3), ElementsAre(0, 1, 4));
  EXPECT_EQ(batch.weights()[0] + batch.weights()[1], 2);
}

TEST_F(BatchRows, StayWhereEachIsARecord) {
  const std::byte* const place = batch.column(0);
  batch.drop_rows_without_record();
  EXPECT_EQ(batch.rows, kRows);
  EXPECT_EQ(batch.column(0), place);
  EXPECT_THAT(strings(2), testing::ElementsAreArray(texts));
}

TEST_F(BatchRows, MayAllBeWithoutARecord) {
  lose({0, 1, 2, 3, 4});
  batch.drop_rows_without_record();
  EXPECT_EQ(batch.rows, 0U);
  EXPECT_THAT(strings(2), IsEmpty());
  EXPECT_THAT(row_offsets(3), ElementsAre(0));
}

TEST_F(BatchRows, AreDroppedOnceFromABatchThatComesAgain) {
  lose({1});
  Batch again = batch;
  batch.drop_rows_without_record();
  again.drop_rows_without_record();
  EXPECT_EQ(again.rows, 4U);
  batch = again;
  EXPECT_THAT(pairs(), ElementsAre(0, 0, 2, -2, 3, -3, 4, -4));
  EXPECT_THAT(strings(2), ElementsAre("0", "", "2", "xx", "3", "xxx", "4", "xxxx"));
}

}  // namespace
}  // namespace headrace

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

std::string string_at(const ColumnData& data, std::size_t i) {
  const auto* bytes = reinterpret_cast<const char*>(data.values);
  return {bytes + data.byte_offsets[i], bytes + data.byte_offsets[i + 1]};
}

template <typename T>
std::vector<T> row_of(const ColumnData& data, std::size_t row) {
  const auto* values = reinterpret_cast<const T*>(data.values);
  return {values + data.row_offsets[row], values + data.row_offsets[row + 1]};
}

class LoaderColumnsTest : public LoaderTest {
 protected:
  // Damages records of the first shard.
  void damage(const std::vector<std::uint64_t>& records) {
    Bytes data = read_object(*store, "data/train-00000", 1 << 20)->data;
    const auto index = ShardIndex::parse(read_object(*store, "data/train-00000.index", 1 << 20)->data);
    for (const std::uint64_t record : records) data[index->record_offset(record) + 30] ^= std::byte{1};
    ASSERT_TRUE(store->write("data/train-00000", data, {}));
  }

  LoaderOptions all_columns() const {
    LoaderOptions out = options();
    out.columns = {{.name = "y", .type = DataType::kInt64, .length = 2},
                   {.name = "text", .type = DataType::kBytes, .length = 1},
                   {.name = "tokens", .type = DataType::kInt64},
                   {.name = "scores", .type = DataType::kFloat32},
                   {.name = "words", .type = DataType::kBytes}};
    return out;
  }
};

// Compares a row with the values that `example` puts into record `id`.
void expect_row(const Batch& batch, std::size_t row, std::int64_t id) {
  const auto i = static_cast<std::size_t>(id);
  EXPECT_EQ(string_at(batch.data(1), row), concat("text of record ", id, std::string(i % 50, '.')));
  EXPECT_EQ(row_of<std::int64_t>(batch.data(2), row), std::vector<std::int64_t>(i % 5, id));
  EXPECT_EQ(row_of<float>(batch.data(3), row), std::vector<float>(i % 3, static_cast<float>(id)));
  const ColumnData words = batch.data(4);
  ASSERT_EQ(words.row_offsets[row + 1] - words.row_offsets[row], static_cast<std::int64_t>(i % 4));
  for (std::int64_t w = words.row_offsets[row]; w < words.row_offsets[row + 1]; ++w)
    EXPECT_EQ(string_at(words, static_cast<std::size_t>(w)), concat("word ", id));
}

TEST_F(LoaderColumnsTest, OfAnyLengthComeAsOffsetsAndValues) {
  publish({50, 31}, 7, true);
  auto loader = make_loader(open(), all_columns());
  ASSERT_TRUE(loader) << loader.error().message;
  std::uint64_t records = 0;
  while (true) {
    const auto batch = (*loader)->next();
    ASSERT_TRUE(batch) << batch.error().message;
    if (!*batch) break;
    const auto* y = reinterpret_cast<const std::int64_t*>((*batch)->column(0));
    // Rows of weight 0 repeat a record, in every column.
    for (std::size_t row = 0; row < (*batch)->rows; ++row) expect_row(**batch, row, y[2 * row]);
    EXPECT_EQ((*batch)->data(2).row_offsets.size(), (*batch)->rows + 1);
    EXPECT_EQ((*batch)->data(4).byte_offsets.back(),
              static_cast<std::int64_t>((*batch)->data(4).value_count));
    records += (*batch)->records;
  }
  EXPECT_EQ(records, 81U);
}

TEST_F(LoaderColumnsTest, HolesRepeatAGoodRowInEveryColumn) {
  publish({50}, 0);
  damage({0, 1, 17, 31});
  LoaderOptions with = all_columns();
  with.shuffle = ShuffleMode::kNone;
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  auto loader = make_loader(open(), with);
  for (const std::uint64_t good : {14, 14, 16, 2}) {
    const auto batch = (*loader)->next();
    ASSERT_TRUE(batch) << batch.error().message;
    EXPECT_EQ((*batch)->records, good);
    const auto* y = reinterpret_cast<const std::int64_t*>((*batch)->column(0));
    for (std::size_t row = 0; row < (*batch)->rows; ++row) expect_row(**batch, row, y[2 * row]);
  }
}

TEST_F(LoaderColumnsTest, RowsOfWeightZeroAreTheSameAtEveryWorldSize) {
  publish({50}, 0);
  damage({0, 1, 17, 31});
  LoaderOptions with = all_columns();
  with.shuffle = ShuffleMode::kNone;
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  for (with.world_size = 1; with.world_size <= 16; with.world_size += 5) {
    std::vector<std::vector<std::int64_t>> ids(4);
    for (with.rank = 0; with.rank < with.world_size; ++with.rank) {
      auto loader = make_loader(open(), with);
      for (std::vector<std::int64_t>& global : ids) {
        const Batch batch = **(*loader)->next();
        const auto* y = reinterpret_cast<const std::int64_t*>(batch.column(0));
        for (std::size_t row = 0; row < batch.rows; ++row) {
          expect_row(batch, row, y[2 * row]);
          global.push_back(y[2 * row]);
        }
      }
    }
    EXPECT_EQ(ids[0], (std::vector<std::int64_t>{2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
    EXPECT_EQ(ids[1],
              (std::vector<std::int64_t>{16, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 16}));
    EXPECT_EQ(ids[3],
              (std::vector<std::int64_t>{48, 49, 48, 48, 48, 48, 48, 48, 48, 48, 48, 48, 48, 48, 48, 48}));
  }
}

TEST_F(LoaderColumnsTest, ABatchWithoutAGoodRecordIsEmpty) {
  publish({16}, 0);
  std::vector<std::uint64_t> all(16);
  std::iota(all.begin(), all.end(), 0);
  damage(all);
  LoaderOptions with = all_columns();
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  auto loader = make_loader(open(), with);
  const auto batch = (*loader)->next();
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ((*batch)->records, 0U);
  EXPECT_EQ((*batch)->data(1).value_count, 0U);
  EXPECT_EQ((*batch)->data(4).row_offsets.size(), 17U);
  EXPECT_EQ(reinterpret_cast<const std::int64_t*>((*batch)->column(0))[31], 0);
}

TEST_F(LoaderColumnsTest, AnAbsentFeatureIsAnErrorUnlessItIsNotRequired) {
  publish({16}, 0);
  LoaderOptions with = options();
  with.columns = {{.name = "even", .type = DataType::kInt64, .length = 1, .required = false}};
  with.shuffle = ShuffleMode::kNone;
  const auto batch = (*make_loader(open(), with))->next();
  ASSERT_TRUE(batch) << batch.error().message;
  const auto* even = reinterpret_cast<const std::int64_t*>((*batch)->column(0));
  EXPECT_EQ(even[4], 4);
  EXPECT_EQ(even[5], 0);
  with.columns[0].required = true;
  EXPECT_THAT(make_loader(open(), with).error().message, HasSubstr("has no feature even"));
}

TEST_F(LoaderColumnsTest, ARecordWithAnotherNumberOfValuesThanNoneOrThatOfItsColumnIsNamedOrAHole) {
  publish({10}, 0);
  LoaderOptions with = options();
  with.columns = {{.name = "tokens", .type = DataType::kInt64, .count_if_present = 3}};
  with.shuffle = ShuffleMode::kNone;
  const auto failed = (*make_loader(open(), with))->next();
  EXPECT_THAT(failed.error().message, HasSubstr("record 1, at byte "));
  EXPECT_THAT(failed.error().message, HasSubstr("\"tokens\": expected int64[0 or 3], found int64[1]"));
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  auto loader = make_loader(open(), with);
  const auto batch = (*loader)->next();
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ((*batch)->records, 4U) << "0, 3, 5 and 8";
  EXPECT_EQ(row_of<std::int64_t>((*batch)->data(0), 3), std::vector<std::int64_t>(3, 3));
  EXPECT_EQ((*loader)->stats().corrupt_records, 6U);
  with.columns[0] = {.name = "y", .type = DataType::kInt64, .count_if_present = 3};
  EXPECT_THAT(make_loader(open(), with).error().message, HasSubstr("y is wanted as int64[0 or 3], but in"));
}

}  // namespace
}  // namespace headrace

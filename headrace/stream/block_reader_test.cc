#include "headrace/stream/block_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "headrace/stream/block_loader.h"
#include "headrace/stream/record_finder.h"
#include "headrace/stream/small_dataset_test.h"

namespace headrace::block_reader_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kReadingBytes = 3'000;

// Rows in memory. They are not tf.Examples yet, only their numbers. A shard's place is the number of its
// first row.
struct Table {
  std::set<std::uint64_t> gone{};  // rows that were deleted since the dataset was opened
  std::uint64_t too_many = 0;      // records that a reader gives beyond those of its block
  std::uint64_t reading_bytes = 0;
};

class RowReader final : public BlockReader {
 public:
  RowReader(const Dataset& dataset, const Table& table, std::shared_ptr<BufferPool> pool)
      : dataset_(dataset), table_(table), pool_(std::move(pool)) {}

  Result<LoadedBlock> read(const DatasetBlock& block, const CallOptions&) override {
    const Stopwatch stopwatch(stats_.check_seconds);
    const std::uint64_t first = *parse_number<std::uint64_t>(dataset_.shards()[block.shard].place);
    BlockContents contents;
    Bytes records;
    for (std::uint64_t i = 0; i < block.record_count + table_.too_many; ++i) {
      const std::uint64_t row = first + block.first_record + i;
      contents.offsets.push_back(records.size());
      records.resize(records.size() + kRecordFramingBytes);  // the frame comes first
      if (table_.gone.contains(row)) {
        contents.holes.push_back({i, i + 1, {Code::kDataLoss, concat("row ", row, " was deleted")}});
      } else {
        append(records, example(row));
      }
    }
    contents.offsets.push_back(records.size());
    contents.data_offset = kRecordFramingBytes;
    contents.bytes = pool_->take(records.size());
    std::ranges::copy(records, contents.bytes.data());
    stats_.fetched_bytes += records.size();
    remarks_.push_back(concat("read ", block.record_count, " rows"));
    return LoadedBlock(std::move(contents));
  }

 private:
  const Dataset& dataset_;
  const Table& table_;
  const std::shared_ptr<BufferPool> pool_;
};

class TableRows final : public ShardKind {
 public:
  explicit TableRows(Table table) : table_(std::move(table)) {}
  std::unique_ptr<BlockReader> make_reader(const Dataset& dataset,
                                           const BlockReaderOptions& options) const override {
    return std::make_unique<RowReader>(dataset, table_, options.pool);
  }
  std::uint64_t reading_bytes(const DatasetShard&, const DatasetBlock&) const override {
    return table_.reading_bytes;
  }

 private:
  const Table table_;
};

// Makes shards with these numbers of rows, in blocks of ten, as LoaderTest::publish makes plain ones.
DatasetContents contents_of(const std::vector<std::uint64_t>& shard_rows, Table table = {}) {
  DatasetContents contents{.url = "table://rows", .digest = "d"};
  const auto kind = std::make_shared<const TableRows>(std::move(table));
  std::uint64_t first = 0;
  for (const std::uint64_t rows : shard_rows) {
    const auto shard = static_cast<std::uint32_t>(contents.shards.size());
    contents.shards.push_back({.kind = kind,
                               .name = concat("table://rows part ", shard),
                               .place = concat(first),
                               .record_count = rows});
    for (std::uint64_t begin = 0; begin < rows; begin += 10) {
      DatasetBlock block{
          .shard = shard, .first_record = begin, .record_count = std::min<std::uint64_t>(10, rows - begin)};
      for (std::uint64_t i = 0; i < block.record_count; ++i)
        block.stream_bytes += example(first + begin + i).size() + kRecordFramingBytes;
      contents.blocks.push_back(block);
    }
    first += rows;
  }
  return contents;
}

std::shared_ptr<const Dataset> make(const std::vector<std::uint64_t>& shard_rows, Table table = {}) {
  auto dataset = Dataset::make(contents_of(shard_rows, std::move(table)));
  EXPECT_TRUE(dataset) << dataset.error().message;
  return dataset ? *dataset : nullptr;
}

class BlockReaderTest : public LoaderTest {};

TEST_F(BlockReaderTest, RowsOfAnotherKindHaveTheOrderOfEqualRecords) {
  publish({75, 3, 64}, 0, true);
  const auto published = open(), rows = make({75, 3, 64});
  for (const ShuffleMode mode : {ShuffleMode::kNone, ShuffleMode::kWindow}) {
    LoaderOptions with = options();
    with.shuffle = mode;
    with.epochs = 2;
    EXPECT_EQ(batches_of(rows, with), batches_of(published, with));
    const LoaderPosition from{.epoch = 1, .batch = 3};
    EXPECT_EQ(batches_of_ranks({{.dataset = rows}}, with, from, 3),
              batches_of_ranks({{.dataset = published}}, with, from, 1));
  }
  EXPECT_EQ(rows->describe(), "table://rows");
  EXPECT_EQ(rows->describe_shard(1), "table://rows part 1");
  EXPECT_EQ(batches_of(rows->only(1), options()), batches_of(published->only(1), options()));
}

TEST_F(BlockReaderTest, AMixtureTakesRowsAndRecords) {
  publish({40}, 0, true);
  const auto published = open(), rows = make({40});
  const auto mix = [&](const std::shared_ptr<const Dataset>& second) {
    auto loader = BatchLoader::create({{.dataset = published}, {.dataset = second}}, options());
    EXPECT_TRUE(loader) << loader.error().message;
    return loader ? drain(**loader) : std::vector<std::vector<std::int64_t>>{};
  };
  EXPECT_EQ(mix(rows), mix(published));
}

TEST_F(BlockReaderTest, ARowThatIsGoneIsAHoleOrAnError) {
  const Table table{.gone = {5, 17}};
  LoaderOptions with = options();
  with.shuffle = ShuffleMode::kNone;
  with.batch_size = 40;
  auto failing = make_loader(make({40}, table), with);
  ASSERT_TRUE(failing) << failing.error().message;
  const auto failed = (*failing)->next();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("row 5 was deleted; restore"));
  const auto holes_of = [&](CorruptionPolicy policy) {
    with.on_corrupt = policy;
    const auto batches = batches_of(make({40}, table), with);
    std::vector<std::size_t> holes;
    for (std::size_t i = 0; i < batches.at(0).size(); ++i) {
      if (batches[0][i] == -1) holes.push_back(i);
    }
    return holes;
  };
  EXPECT_THAT(holes_of(CorruptionPolicy::kSkipRecord), ElementsAre(5, 17));
  EXPECT_THAT(holes_of(CorruptionPolicy::kSkipShard), ElementsAre(5, 6, 7, 8, 9, 17, 18, 19));
}

TEST_F(BlockReaderTest, WhatAReaderTellsIsCountedAndPassedOn) {
  auto loader = make_loader(make({40}), options());
  ASSERT_TRUE(loader) << loader.error().message;
  drain(**loader);
  EXPECT_EQ((*loader)->stats().blocks, 4U);
  std::uint64_t bytes = 0;
  for (const DatasetBlock& block : contents_of({40}).blocks) bytes += block.stream_bytes;
  EXPECT_EQ((*loader)->stats().fetched_bytes, bytes);
  EXPECT_THAT((*loader)->remarks(), ElementsAre("read 10 rows"));
}

TEST_F(BlockReaderTest, AReaderThatGivesOtherRecordsThanItsBlockIsAnError) {
  const auto dataset = make({40}, {.too_many = 1});
  BlockLoader loader(*dataset, CorruptionPolicy::kSkipRecord, BufferPool::create());
  const auto loaded = loader.load(dataset->blocks()[0], {});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kInternal);
  EXPECT_THAT(loaded.error().message, HasSubstr("11 records"));
}

TEST_F(BlockReaderTest, TheMemoryThatReadingTakesIsPartOfTheBudget) {
  LoaderOptions with = options();
  with.threads = 1;
  const auto fits = [&](const Table& table, std::uint64_t budget) {
    with.memory_budget_bytes = budget;
    return make_loader(make({40}, table), with).has_value();
  };
  std::uint64_t budget = 0;
  while (!fits({}, budget)) budget += 500;
  EXPECT_FALSE(fits({.reading_bytes = kReadingBytes}, budget));
  EXPECT_TRUE(fits({.reading_bytes = kReadingBytes}, budget + kReadingBytes));
}

TEST_F(BlockReaderTest, WithoutAnIndexThereIsNoExactOrder) {
  LoaderOptions with = options();
  with.shuffle = ShuffleMode::kExact;
  const auto loader = make_loader(make({40}), with);
  ASSERT_FALSE(loader);
  EXPECT_EQ(loader.error().code, Code::kUnimplemented);
  EXPECT_THAT(loader.error().message, HasSubstr("shuffle in windows"));
  RecordFinder finder;
  EXPECT_EQ(finder.read(*make({40}), 0, 1, {}).error().code, Code::kUnimplemented);
}

TEST_F(BlockReaderTest, WithAnIndexRecordsAreReadSingly) {
  DatasetContents contents = contents_of({40});
  ShardIndexBuilder index(ShardEncoding::kPlain);
  std::uint64_t bytes = 0;
  for (std::uint64_t row = 0; row < 40; ++row) {
    index.add_record(example(row).size());
    bytes += example(row).size() + kRecordFramingBytes;
  }
  contents.shards[0].index = std::move(index).finish(bytes, 0)->serialize();
  const auto rows = *Dataset::make(std::move(contents));
  publish({40}, 0, true);
  LoaderOptions with = options();
  with.shuffle = ShuffleMode::kExact;
  EXPECT_EQ(batches_of(rows, with), batches_of(open(), with));
  RecordFinder finder;
  EXPECT_EQ(*finder.read(*rows, 0, 17, {}), example(17));
}

TEST_F(BlockReaderTest, BlocksMustHoldExactlyTheRecordsOfTheShards) {
  const auto refused = [](auto change) {
    DatasetContents contents = contents_of({25, 5});
    change(contents);
    const auto made = Dataset::make(std::move(contents));
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(refused([](DatasetContents&) {}), "");
  EXPECT_THAT(refused([](DatasetContents& of) { of.shards[0].kind = nullptr; }), HasSubstr("no kind"));
  EXPECT_THAT(refused([](DatasetContents& of) { of.shards[1].name = ""; }), HasSubstr("no name"));
  EXPECT_THAT(refused([](DatasetContents& of) { of.blocks.pop_back(); }), HasSubstr("part 1"));
  EXPECT_THAT(refused([](DatasetContents& of) { std::swap(of.blocks[2], of.blocks[3]); }),
              HasSubstr("order"));
  EXPECT_THAT(refused([](DatasetContents& of) { of.blocks[3].shard = 2; }), HasSubstr("order"));
  EXPECT_THAT(refused([](DatasetContents& of) { of.blocks[1].first_record = 9; }),
              HasSubstr("does not begin"));
  EXPECT_THAT(refused([](DatasetContents& of) { of.blocks[2].record_count = 6; }),
              HasSubstr("beyond the end of its shard"));
  EXPECT_THAT(refused([](DatasetContents& of) { of.blocks[0].record_count = 0; }), HasSubstr("no records"));
  EXPECT_THAT(refused([](DatasetContents& of) { of.blocks[0].stream_bytes = 159; }), HasSubstr("no room"));
}

}  // namespace
}  // namespace headrace::block_reader_test

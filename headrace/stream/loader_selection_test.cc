// Tests of selections: loaders that read only some records of a range.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "headrace/stream/loader_state.h"
#include "headrace/stream/small_dataset_test.h"
#include "headrace/stream/source.h"
#include "headrace/stream/strata.h"

namespace headrace {
namespace {

using testing::HasSubstr;

using Ids = std::vector<std::int64_t>;

class LoaderSelectionTest : public LoaderTest {
 protected:
  // Records 20 to 99 of two shards of 60 records, by their numbers counted from record 20.
  LoaderSource source(std::vector<std::uint64_t> numbers, const std::string& name = "some") {
    if (!dataset) {
      publish({60, 60}, 0, true);
      dataset = open();
    }
    auto selection = std::make_shared<const RecordSelection>(RecordSelection{name, std::move(numbers)});
    return {.dataset = dataset, .range = RecordRange{20, 80}, .selection = std::move(selection)};
  }

  LoaderOptions in(ShuffleMode mode) const {
    LoaderOptions out = options();
    out.shuffle = mode;
    out.epochs = 2;
    return out;
  }

  // The records of each epoch, in the order in which they are read.
  std::vector<Ids> epochs_of(const LoaderSource& from, const LoaderOptions& with) {
    auto loader = BatchLoader::create({from}, with);
    EXPECT_TRUE(loader) << loader.error().message;
    std::vector<Ids> epochs(with.epochs);
    if (!loader) return epochs;
    const auto batches = drain(**loader);
    for (std::size_t b = 0; b < batches.size(); ++b) {
      for (const std::int64_t id : batches[b])
        if (id >= 0) epochs[b / (*loader)->batches_per_epoch()].push_back(id);
    }
    return epochs;
  }

  std::shared_ptr<const Dataset> dataset;
};

constexpr ShuffleMode kModes[] = {ShuffleMode::kNone, ShuffleMode::kWindow, ShuffleMode::kExact};
const std::vector<std::uint64_t> kSome = {0, 1, 7, 8, 9, 30, 31, 39, 40, 41, 59, 60, 62, 64, 66, 68, 78, 79};

TEST_F(LoaderSelectionTest, YieldsTheSelectedRecordsInEachEpochAndSaysWhereTheyLie) {
  Ids expected;
  for (const std::uint64_t number : kSome) expected.push_back(static_cast<std::int64_t>(20 + number));
  for (const ShuffleMode mode : kModes) {
    auto epochs = epochs_of(source(kSome), in(mode));
    EXPECT_EQ(epochs[0] == expected, mode == ShuffleMode::kNone);
    EXPECT_EQ(epochs[0] == epochs[1], mode == ShuffleMode::kNone);
    const auto loader = *BatchLoader::create({source(kSome)}, in(mode));
    EXPECT_EQ(loader->record_count(), kSome.size());
    Ids places;
    for (std::uint64_t batch = 0; batch < loader->batches_per_epoch(); ++batch) {
      const auto where = loader->where(0, batch, {});
      for (const RecordPlace& place : *where)
        places.push_back(static_cast<std::int64_t>(place.shard * 60 + place.record));
    }
    EXPECT_EQ(places, epochs[0]);
    for (Ids& epoch : epochs) {
      std::ranges::sort(epoch);
      EXPECT_EQ(epoch, expected);
    }
  }
}

TEST_F(LoaderSelectionTest, OfAllRecordsIsTheRange) {
  std::vector<std::uint64_t> all(80);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  LoaderSource range = source(all);
  range.selection.reset();
  for (const ShuffleMode mode : kModes)
    EXPECT_EQ(epochs_of(source(all), in(mode)), epochs_of(range, in(mode)));
}

TEST_F(LoaderSelectionTest, ReadsNoBlockWithoutASelectedRecord) {
  const auto loader = *BatchLoader::create({source({5, 6, 41})}, options());
  drain(*loader);
  EXPECT_EQ(loader->stats().blocks, 2U) << "of the twelve that have ten records each";
}

TEST_F(LoaderSelectionTest, ContinuesAtAnyBatchAndRefusesTheStateOfAnotherSelection) {
  const LoaderSource from = source(kSome);
  LoaderOptions with = in(ShuffleMode::kWindow);
  with.batch_size = 4;
  const auto loader = *BatchLoader::create({from}, with);
  const auto all = drain(*loader);
  const std::string state = loader->state(1, 2);
  const auto position = parse_loader_state(state, {from}, with);
  ASSERT_TRUE(position) << position.error().message;
  with.first_epoch = position->epoch;
  with.first_batch = position->batch;
  const auto rest = drain(**BatchLoader::create({from}, with));
  EXPECT_EQ(rest, (std::vector<Ids>{all.begin() + 7, all.end()}));
  EXPECT_FALSE(parse_loader_state(state, {source(kSome, "others")}, with));
  LoaderSource range = from;
  range.selection.reset();
  EXPECT_FALSE(parse_loader_state(state, {range}, with));
}

TEST_F(LoaderSelectionTest, IsRefusedIfItIsNoneOfTheRange) {
  for (const std::vector<std::uint64_t>& numbers :
       std::vector<std::vector<std::uint64_t>>{{1, 80}, {3, 2}, {4, 4}}) {
    const auto refused = BatchLoader::create({source(numbers)}, options());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("the selection some"));
  }
  EXPECT_EQ(BatchLoader::create({source({})}, options()).error().code, Code::kFailedPrecondition);
}

TEST_F(LoaderSelectionTest, ItsNumbersCountAgainstTheBudget) {
  const auto least = [&](const LoaderSource& from) {
    LoaderOptions with = options();
    std::uint64_t low = 0, high = 1 << 20;
    while (low + 1 < high) {
      with.memory_budget_bytes = (low + high) / 2;
      (BatchLoader::create({from}, with) ? high : low) = with.memory_budget_bytes;
    }
    return high;
  };
  std::vector<std::uint64_t> all(80);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  LoaderSource range = source(all);
  range.selection.reset();
  EXPECT_EQ(least(source(all)), least(range) + 80 * 8);
}

TEST_F(LoaderSelectionTest, OfFewRecordsInManyBlocksNeedsMemoryForNoMoreThanTheseBlocks) {
  publish({1000}, 0, true, "long");
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 900; ++i) numbers.push_back(i);
  for (std::uint64_t i = 905; i < 1000; i += 10) numbers.push_back(i);
  LoaderSource from{.dataset = open(CorruptionPolicy::kFail, "long")};
  from.selection =
      std::make_shared<const RecordSelection>(RecordSelection{"dense, then one of each block", numbers});
  LoaderOptions with = options();
  with.batch_size = 64;
  with.threads = 1;
  // A record of the last blocks accounts for 2 kB, but there are only ten of them: less than a batch.
  with.memory_budget_bytes = 80'000;
  const auto loader = BatchLoader::create({from}, with);
  ASSERT_TRUE(loader) << loader.error().message;
  std::size_t records = 0;
  for (const Ids& batch : drain(**loader))
    records +=
        static_cast<std::size_t>(std::ranges::count_if(batch, [](std::int64_t id) { return id >= 0; }));
  EXPECT_EQ(records, 910U);
}

TEST_F(LoaderSelectionTest, IsTheSameAtAnyWorldSize) {
  const LoaderSource from = source(kSome);
  for (const ShuffleMode mode : kModes)
    EXPECT_EQ(batches_of_ranks({from}, in(mode), {}, 2), batches_of_ranks({from}, in(mode), {}, 1));
}

TEST_F(LoaderSelectionTest, ADamagedRecordIsAHoleIfItIsSelected) {
  const LoaderSource before = source({});
  const WrittenShard shard = make_shard(0, 60, 0);
  Bytes data = shard.data;
  for (const std::uint64_t record : {27, 29}) data[shard.index.record_offset(record) + 30] ^= std::byte{1};
  ASSERT_TRUE(store->write("data/train-00000", data, {}));
  for (const ShuffleMode mode : kModes) {
    LoaderOptions with = in(mode);
    with.epochs = 1;
    with.on_corrupt = CorruptionPolicy::kSkipRecord;
    LoaderSource from = source({5, 6, 7, 8, 50});  // 27 is among them, 29 is not
    from.dataset = open(CorruptionPolicy::kSkipRecord);
    const auto loader = *BatchLoader::create({from}, with);
    Ids ids;
    for (const Ids& batch : drain(*loader)) std::ranges::copy(batch, std::back_inserter(ids));
    std::erase(ids, -1);
    EXPECT_THAT(ids, testing::UnorderedElementsAre(25, 26, 28, 70));
    EXPECT_EQ(loader->stats().corrupt_records, 1U);
  }
}

TEST_F(LoaderSelectionTest, OfStrataOfAnAppendedDatasetIsWhatRangesCount) {
  publish({60, 30}, 0, true, "appended", 0, {{0, {30, 30}}, {0, {10, 10, 10}}});
  dataset = open(CorruptionPolicy::kFail, "appended");
  const auto ids_of = [&](const LoaderSource& from) {
    LoaderOptions with = in(ShuffleMode::kNone);
    with.epochs = 1;
    return epochs_of(from, with).front();
  };
  const RecordRange part{0, 70};
  const Ids all = ids_of({.dataset = dataset, .range = part});
  const auto selected = [&](const Strata& strata, std::vector<RecordRange> ranges) {
    return ids_of({.dataset = dataset,
                   .range = part,
                   .selection = std::make_shared<const RecordSelection>(
                       RecordSelection{"strata", strata.select(ranges)})});
  };
  const Strata one(dataset->order(kOrderVersion), std::vector<std::uint32_t>(part.count, 0));
  for (const std::uint64_t count : {1, 33, 41, 55, 70})
    EXPECT_EQ(selected(one, {{0, count}}), ids_of({.dataset = dataset, .range = RecordRange{0, count}}));
  std::vector<std::uint32_t> thirds;
  for (const std::int64_t id : all) thirds.push_back(static_cast<std::uint32_t>(id % 3));
  const Strata by_thirds(dataset->order(kOrderVersion), thirds);
  const Ids some = selected(by_thirds, {{2, 4}, {0, 0}, {5, 3}});
  std::map<std::int64_t, int> times;
  for (const std::int64_t id : some) ++times[id % 3];
  EXPECT_THAT(times, testing::ElementsAre(testing::Pair(0, 4), testing::Pair(2, 3)));
}

// In a mixture, a batch may contain the end of one epoch and the beginning of the next.
TEST_F(LoaderSelectionTest, MemoryOfABatchOverTwoEpochsCountsTheScarcestBlocksOfBoth) {
  publish({1000}, 0, true, "long");
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 40; ++i) numbers.push_back(i);
  for (const std::uint64_t lonely : {45, 55}) numbers.push_back(lonely);
  const auto selection = std::make_shared<const RecordSelection>(RecordSelection{"some", numbers});
  std::vector<std::string> remarks;
  const auto from = *Source::create(open(CorruptionPolicy::kFail, "long"),
                                    {.selection = selection, .window_bytes = 1}, {}, remarks);
  const auto pool = BufferPool::create();
  // The bytes of the windows, each a block, that end or begin an epoch and have at most so many records.
  const auto bytes_at_end = [&](std::uint64_t epoch, std::uint64_t records, bool at_end) {
    const std::uint64_t last = from->window_at(epoch, from->record_count() - 1);
    std::uint64_t bytes = 0;
    for (std::uint64_t w = 0; w <= last; ++w) {
      const auto window = from->window(epoch, at_end ? last - w : w, *pool);
      if (window->record_count() > records) break;
      records -= window->record_count();
      for (const DatasetBlock& block : window->blocks()) bytes += block.stream_bytes;
    }
    return bytes;
  };
  constexpr std::uint64_t kBatch = 4;
  std::uint64_t most = 0;
  for (std::uint64_t epoch = 0; epoch < 1500; ++epoch)
    most = std::max(most, bytes_at_end(epoch, 2, true) + bytes_at_end(epoch + 1, 2, false));
  EXPECT_GT(most, from->span_memory_bytes(kBatch, false)) << "more than one epoch has";
  EXPECT_LE(most, from->span_memory_bytes(kBatch, true));
  EXPECT_LT(from->span_memory_bytes(20, true), 20 * from->block_bytes());
}

}  // namespace
}  // namespace headrace

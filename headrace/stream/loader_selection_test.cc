// Selections: loaders of some of the records of a range.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "headrace/stream/loader_state.h"
#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

using Ids = std::vector<std::int64_t>;

class LoaderSelectionTest : public LoaderTest {
 protected:
  // Records 20 … 99 of two shards of 60, by numbers from 20 on.
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

  // The records of each epoch, in their order.
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
  // A record of the last blocks stands for 2 kB, but there are ten of them: not a batch.
  with.memory_budget_bytes = 80'000;
  const auto loader = BatchLoader::create({from}, with);
  ASSERT_TRUE(loader) << loader.error().message;
  std::size_t records = 0;
  for (const Ids& batch : drain(**loader))
    records +=
        static_cast<std::size_t>(std::ranges::count_if(batch, [](std::int64_t id) { return id >= 0; }));
  EXPECT_EQ(records, 910U);
}

}  // namespace
}  // namespace headrace

// Tests of versions of the order, of ranges of appended datasets, and of micro-shards, in a loader.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "headrace/stream/loader_state.h"
#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class LoaderVersionTest : public LoaderTest {
 protected:
  // Three shards of 40 records. If `appended`, the third shard comes before the second in dataset order.
  std::shared_ptr<const Dataset> three_shards(bool appended) {
    std::vector<ShardThousandths> thousandths;
    if (appended) thousandths = {{0, {10, 30}}, {500, {40}}, {0, {20, 20}}};
    publish({40, 40, 40}, 0, true, "data", 0, thousandths);
    return open();
  }

  LoaderOptions with(ShuffleMode mode, int version) const {
    LoaderOptions out = options();
    out.shuffle = mode;
    out.order_version = version;
    return out;
  }

  static std::set<std::int64_t> ids_of(const std::vector<std::vector<std::int64_t>>& batches) {
    std::set<std::int64_t> ids;
    for (const auto& batch : batches) ids.insert(batch.begin(), batch.end());
    ids.erase(-1);
    return ids;
  }
};

// States and batches of version 1, which were recorded before version 2 existed.
struct Recorded {
  ShuffleMode mode;
  std::vector<std::int64_t> batch;           // number 3 of the whole
  std::vector<std::int64_t> batch_of_range;  // number 1 of records 30 to 89
};
const std::vector<Recorded> kRecorded = {
    {ShuffleMode::kNone,
     {48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63},
     {46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61}},
    {ShuffleMode::kWindow,
     {55, 20, 45, 75, 70, 42, 44, 77, 72, 49, 40, 47, 78, 41, 74, 48},
     {34, 61, 62, 68, 87, 80, 40, 84, 41, 88, 42, 86, 85, 45, 46, 82}},
    {ShuffleMode::kExact,
     {60, 46, 102, 105, 27, 23, 72, 17, 15, 50, 6, 116, 119, 52, 35, 101},
     {36, 37, 75, 51, 87, 76, 82, 31, 85, 73, 84, 79, 59, 61, 71, 72}}};

std::string recorded_state(ShuffleMode mode) {
  return concat(R"({"batch":3,"batch_size":16,"data":"120 records of memory://test/data",)",
                R"("dataset":"f3aec037884dd5ed866c69c76ec4e0387483c3bafa3100171ef4043204cce804",)",
                R"("drop_remainder":false,"epoch":0,"mode":")", shuffle_mode_name(mode),
                R"(","order":1,"seed":44,"window_bytes":4000})");
}

TEST_F(LoaderVersionTest, Version1GivesWhatItGave) {
  for (const bool appended : {true, false}) {
    const auto dataset = three_shards(appended);
    for (const auto& [mode, batch, batch_of_range] : kRecorded) {
      EXPECT_EQ(batches_of(dataset, with(mode, 1))[3], batch);
      EXPECT_EQ(batches_of(dataset, with(mode, 1), RecordRange{30, 60})[1], batch_of_range);
      if (appended) continue;
      EXPECT_EQ(batches_of(dataset, with(mode, 2))[3], batch);
      EXPECT_EQ(batches_of(dataset, with(mode, 2), RecordRange{30, 60})[1], batch_of_range);
    }
  }
}

TEST_F(LoaderVersionTest, AStateThatVersion1WroteContinuesWhereNothingWasAppended) {
  const auto dataset = three_shards(false);
  for (const auto& [mode, batch, batch_of_range] : kRecorded) {
    EXPECT_EQ(order_version_of(recorded_state(mode)), 1);
    EXPECT_EQ((*make_loader(dataset, with(mode, 1)))->state(0, 3), recorded_state(mode));
    for (const int version : {1, 2}) {
      const auto position =
          parse_loader_state(recorded_state(mode), {{.dataset = dataset}}, with(mode, version));
      ASSERT_TRUE(position) << position.error().message;
      const auto rest = batches_of_ranks({{.dataset = dataset}}, with(mode, version), *position, 1);
      EXPECT_EQ(rest.front(), batch);
    }
  }
}

TEST_F(LoaderVersionTest, AStateOfVersion1ContinuesByVersion1AfterAppending) {
  const auto dataset = three_shards(true);
  for (const auto& [mode, batch, batch_of_range] : kRecorded) {
    const auto expected = batches_of(dataset, with(mode, 1));
    const std::string state = (*make_loader(dataset, with(mode, 1)))->state(0, 3);
    const auto position =
        parse_loader_state(state, {{.dataset = dataset}}, with(mode, order_version_of(state)));
    ASSERT_TRUE(position) << position.error().message;
    EXPECT_EQ(batches_of_ranks({{.dataset = dataset}}, with(mode, 1), *position, 2),
              std::vector(expected.begin() + 3, expected.end()));
    const auto other = parse_loader_state(state, {{.dataset = dataset}}, with(mode, 2));
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(other.error().message, HasSubstr("order=1"));
    EXPECT_FALSE(parse_loader_state((*make_loader(dataset, with(mode, 2)))->state(0, 3),
                                    {{.dataset = dataset}}, with(mode, 1)));
  }
}

TEST_F(LoaderVersionTest, VersionsThatAreUnknownAreRefused) {
  const auto dataset = three_shards(false);
  std::string state = recorded_state(ShuffleMode::kNone);
  const auto parse = [&] {
    return parse_loader_state(state, {{.dataset = dataset}}, with(ShuffleMode::kNone, 2));
  };
  state.replace(state.find("\"order\":1"), 9, "\"order\":4");
  EXPECT_EQ(parse().error().code, Code::kUnimplemented);
  EXPECT_THAT(parse().error().message, HasSubstr("version 4 of the order; this Headrace reads 1 to 3"));
  EXPECT_EQ(order_version_of(state), kOrderVersion) << "parsing reports it";
  state.replace(state.find("\"order\":4"), 9, "\"order\":[]");
  EXPECT_EQ(parse().error().code, Code::kDataLoss);
  EXPECT_EQ(order_version_of(state), kOrderVersion);
  for (const int version : {0, 4})
    EXPECT_EQ(make_loader(dataset, with(ShuffleMode::kNone, version)).error().code, Code::kInvalidArgument);
}

TEST_F(LoaderVersionTest, RangesOfAnAppendedDatasetTakeFromAllOfItsShards) {
  const auto dataset = three_shards(true);
  for (const Recorded& recorded : kRecorded) {
    const LoaderOptions options = with(recorded.mode, kOrderVersion);
    const auto first = ids_of(batches_of(dataset, options, RecordRange{0, 30}));
    const auto rest = ids_of(batches_of(dataset, options, RecordRange{30, 90}));
    EXPECT_EQ(first.size(), 30U);
    EXPECT_EQ(*first.rbegin(), 99) << "0 … 9 of the first shard, 80 … 99 of the last";
    EXPECT_EQ(rest.size(), 90U);
    for (const std::int64_t id : first) EXPECT_FALSE(rest.contains(id));
  }
}

TEST_F(LoaderVersionTest, RanksTakeWholeMicroShardsOfEachBatch) {
  publish({50, 50}, 7);
  const auto dataset = open();
  const auto expected = batches_of(dataset, options());
  LoaderOptions sharded = options();
  sharded.micro_shards = 4;
  for (std::uint64_t world_size = 1; world_size <= 4; ++world_size) {
    EXPECT_EQ(batches_of_ranks({{.dataset = dataset}}, sharded, {}, world_size), expected);
    sharded.world_size = world_size;
    for (sharded.rank = 0; sharded.rank < world_size; ++sharded.rank)
      EXPECT_EQ(batches_of(dataset, sharded).front().size() % 4, 0U);
    sharded.rank = 0;
  }
  for (const std::uint64_t micro_shards : {3, 5, 32}) {
    sharded.micro_shards = micro_shards;
    EXPECT_THAT(make_loader(dataset, sharded).error().message, HasSubstr("equal micro-shards over 4 ranks"));
  }
  sharded.micro_shards = 2;
  EXPECT_EQ(make_loader(dataset, sharded).error().code, Code::kInvalidArgument) << "fewer than ranks";
}

}  // namespace
}  // namespace headrace

#include "headrace/stream/strata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using testing::ElementsAre;

DataOrder one_shard(std::uint64_t records) {
  const OrderedShard shard{records, nullptr};
  return {{&shard, 1}, kOrderVersion};
}

TEST(Strata, TakesARangeOfEachClass) {
  const Strata strata(one_shard(10), {7, 3, 7, 7, 3, 9, 7, 3, 7, 7});
  EXPECT_THAT(strata.counts(), ElementsAre(3, 6, 1)) << "of the classes 3, 7, 9";
  const auto select = [&](std::vector<RecordRange> ranges) { return strata.select(ranges); };
  EXPECT_THAT(select({{0, 1}, {0, 2}, {0, 1}}), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(select({{2, 1}, {3, 3}, {0, 0}}), ElementsAre(6, 7, 8, 9));
  EXPECT_THAT(select({{0, 0}, {0, 0}, {0, 0}}), ElementsAre());
  EXPECT_THAT(select({{0, 3}, {0, 6}, {0, 1}}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Strata, CountAsRangesOfAnAppendedDatasetDo) {
  const ShardThousandths first{0, {2, 2}}, appended{0, {1, 1}};
  const std::vector<OrderedShard> shards = {{4, &first}, {2, &appended}};
  // In dataset order, records 0 to 3 are in the first shard. Ranges count 0, 1, 4, 2, 3, 5.
  const Strata strata({shards, kOrderVersion}, {0, 1, 0, 0, 0, 1});
  const auto select = [&](std::vector<RecordRange> ranges) { return strata.select(ranges); };
  EXPECT_THAT(select({{0, 2}, {0, 0}}), ElementsAre(0, 4));
  EXPECT_THAT(select({{2, 2}, {1, 1}}), ElementsAre(2, 3, 5));
  // The first four records in the order of ranges: three of the first shard, and one of the other.
  const Strata front({shards, kOrderVersion}, {0, 1, 0, 0});
  EXPECT_THAT(front.counts(), ElementsAre(3, 1));
  EXPECT_THAT(front.select(std::vector<RecordRange>{{0, 3}, {0, 0}}), ElementsAre(0, 2, 3));
  EXPECT_THAT(front.select(std::vector<RecordRange>{{1, 1}, {0, 1}}), ElementsAre(1, 3));
}

TEST(Strata, HaveNothingWithoutRecords) {
  const Strata strata(one_shard(3), {});
  EXPECT_THAT(strata.counts(), ElementsAre());
  EXPECT_THAT(strata.select({}), ElementsAre());
}

}  // namespace
}  // namespace headrace

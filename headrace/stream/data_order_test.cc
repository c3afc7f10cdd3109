#include "headrace/stream/data_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace headrace {
namespace {

using testing::ElementsAre;

using Shards = std::vector<ShardThousandths>;

// `unknown`: the numbers of records in the shards without thousandths, which come first.
DataOrder order_of(const Shards& shards, const std::vector<std::uint64_t>& unknown = {},
                   int version = kOrderVersion) {
  std::vector<OrderedShard> of;
  for (const std::uint64_t records : unknown) of.push_back({records, nullptr});
  for (const ShardThousandths& shard : shards)
    of.push_back({std::accumulate(shard.records.begin(), shard.records.end(), std::uint64_t{0}), &shard});
  return {of, version};
}

// The expected values are part of the format: docs/formats/order.md. A change here breaks every stored state.
TEST(DataOrder, IsAsPublished) {
  const Shards two = {{0, {1, 2, 0, 3}}, {1, {2, 2}}};
  std::vector<std::vector<std::uint64_t>> cuts;
  for (std::uint64_t count = 0; count <= 10; ++count) cuts.push_back(order_of(two).cut(count));
  EXPECT_THAT(cuts, ElementsAre(ElementsAre(0, 0), ElementsAre(1, 0), ElementsAre(2, 0), ElementsAre(3, 0),
                                ElementsAre(3, 1), ElementsAre(3, 2), ElementsAre(3, 3), ElementsAre(3, 4),
                                ElementsAre(4, 4), ElementsAre(5, 4), ElementsAre(6, 4)));
  const Shards three = {{500, {1, 1}}, {0, {3}}, {500, {2}}};
  EXPECT_THAT(order_of(three).shards(), ElementsAre(1, 0, 2));
  EXPECT_THAT(order_of({{250, {2, 2}}}, {3, 7}).cut(7), ElementsAre(3, 0, 4));
  std::vector<std::uint64_t> thousandths;
  const Shards even = {{0, std::vector<std::uint64_t>(kThousandths, 1)}};
  for (const double share : {0.1, 0.07, 0.0001, 0.9999})
    thousandths.push_back(order_of(even).validation_range(share).count);
  EXPECT_THAT(thousandths, ElementsAre(100, 70, 1, 1000));
  EXPECT_EQ(order_of(even).validation_range(0), (RecordRange{1000, 0}));
}

TEST(DataOrder, AppendedShardsComeAmongTheOthers) {
  const Shards shards = {{0, {5}}, {250, {5}}, {500, {5}}, {100, {5}}, {600, {5}}};
  EXPECT_THAT(order_of(shards).shards(), ElementsAre(0, 3, 1, 2, 4));
  EXPECT_THAT(order_of(shards, {}, 1).shards(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(order_of(shards, {}, 1).cut(7), ElementsAre(5, 2, 0, 0, 0));
  EXPECT_EQ(order_of(shards, {}, 1).validation_range(0.1), (RecordRange{22, 3}));
}

TEST(DataOrder, VisitsTheRecordsInTheOrderInWhichRangesCount) {
  const Shards shards = {{0, {1, 2, 0, 3}}, {1, {2, 2}}, {0, {4}}};
  for (const int version : {1, kOrderVersion}) {
    const DataOrder order = order_of(shards, {5, 3}, version);
    for (std::uint64_t count = 0; count <= 22; ++count) {
      std::vector<std::uint64_t> fronts(5);
      std::uint64_t visited = 0;
      order.visit(count, [&](std::uint32_t shard, const RecordRange& records) {
        for (std::uint64_t i = 0; i < records.count; ++i) {
          EXPECT_EQ(records.first + i, fronts[shard]++);
          EXPECT_EQ(order.cut(++visited), fronts) << visited;
        }
      });
      EXPECT_EQ(visited, count);
    }
  }
}

// The shards of one plan, which have consecutive parts of the thousandths.
Shards random_plan(std::mt19937_64& random) {
  Shards shards;
  const std::uint64_t most = 1 + random() % 500;
  for (std::uint64_t first = random() % 10; first < kThousandths;) {
    const std::uint64_t size = 1 + random() % std::min<std::uint64_t>(most, kThousandths - first);
    ShardThousandths& shard = shards.emplace_back(ShardThousandths{first, {}});
    for (std::uint64_t i = 0; i < size; ++i) shard.records.push_back(random() % 3);
    shard.records.front() = shard.records.back() = 1;
    first += size;
  }
  return shards;
}

TEST(DataOrder, RangesAreNestedAndAppendingMovesNoRecordOutOfTheValidationPart) {
  std::mt19937_64 random(44);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> unknown;
    for (std::uint64_t i = random() % 4; i > 0; --i) unknown.push_back(1 + random() % 1000);
    Shards shards = random_plan(random);
    const DataOrder before = order_of(shards, unknown);
    const std::size_t count = unknown.size() + shards.size();
    const Shards added = random_plan(random);
    shards.insert(shards.end(), added.begin(), added.end());
    const DataOrder after = order_of(shards, unknown);
    for (const double share : {0.001, 0.1, 0.25, 0.5, 0.999}) {
      std::vector<std::uint64_t> then = before.cut(before.validation_range(share).first);
      std::vector<std::uint64_t> now = after.cut(after.validation_range(share).first);
      now.resize(count);
      ASSERT_EQ(then, now);
    }
    std::vector<std::uint64_t> last(shards.size() + unknown.size());
    const std::uint64_t all = after.validation_range(0).first;
    for (std::uint64_t first = 0; first <= all; first += 1 + random() % 20) {
      const std::vector<std::uint64_t> fronts = after.cut(first);
      ASSERT_EQ(std::accumulate(fronts.begin(), fronts.end(), std::uint64_t{0}), first);
      for (std::size_t i = 0; i < fronts.size(); ++i) ASSERT_GE(fronts[i], last[i]);
      last = fronts;
    }
  }
}

TEST(DataOrder, BothVersionsOrderTheShardsOfOnePlanAlike) {
  std::mt19937_64 random(44);
  for (int round = 0; round < 100; ++round) {
    Shards shards = random_plan(random);
    const DataOrder first = order_of(shards, {}, 1), second = order_of(shards);
    ASSERT_TRUE(first.is_same(second) && second.is_same(first));
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t count = random() % (first.validation_range(0).first + 1);
      ASSERT_EQ(first.cut(count), second.cut(count));
    }
    const Shards added = random_plan(random);
    shards.insert(shards.end(), added.begin(), added.end());
    ASSERT_FALSE(order_of(shards, {}, 1).is_same(order_of(shards)));
  }
  EXPECT_TRUE(order_of({}, {3, 0, 7}, 1).is_same(order_of({}, {3, 0, 7})));
}

TEST(DataOrder, ShardsWithoutThousandthsAreSpreadOverAllOfThem) {
  const Shards first = {{0, {1}}};
  // Each thousandth has three of 3,000 records.
  EXPECT_THAT(order_of(first, {2, 2998}).shards(), ElementsAre(0, 1, 2));
  EXPECT_THAT(order_of(first, {3, 2997}).shards(), ElementsAre(0, 2, 1));
  EXPECT_THAT(order_of({{1, {1}}}, {3, 2997}).shards(), ElementsAre(0, 1, 2));
  EXPECT_THAT(order_of({{1, {1}}}, {6, 2994}).shards(), ElementsAre(0, 2, 1));
  EXPECT_THAT(order_of({{998, {1}}, {999, {1}}}, {2997, 3}).shards(), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(order_of({{998, {1}}}, {2996, 4}).shards(), ElementsAre(0, 1, 2));
  // With 1,500 records, a thousandth has two or one.
  EXPECT_THAT(order_of(first, {1, 1499}).shards(), ElementsAre(0, 1, 2));
  EXPECT_THAT(order_of(first, {2, 1498}).shards(), ElementsAre(0, 2, 1));
  EXPECT_THAT(order_of({{1, {1}}}, {2, 1498}).shards(), ElementsAre(0, 1, 2));
  EXPECT_THAT(order_of({{1, {1}}}, {3, 1497}).shards(), ElementsAre(0, 2, 1));
  const std::uint64_t many = std::uint64_t{1} << 61;
  EXPECT_EQ(order_of({}, {many, many}).validation_range(0.5), (RecordRange{many, many}));
  EXPECT_THAT(order_of({}, {many, many}).cut(many + 7), ElementsAre(many, 7));
}

TEST(DataOrder, ThousandthsWithoutRecordsAreUnknown) {
  const ShardThousandths none{7, {}}, known{0, {1}};
  const std::vector<OrderedShard> shards = {{3, &none}, {1, &known}};
  EXPECT_THAT(DataOrder(shards, 2).shards(), ElementsAre(0, 1));
  EXPECT_THAT(DataOrder(shards, 2).cut(2), ElementsAre(1, 1));
}

TEST(DataOrder, IsTheSameOnlyIfEachRangeIsARunOfIt) {
  const auto is_same = [](const Shards& shards, const std::vector<std::uint64_t>& unknown = {}) {
    return order_of(shards, unknown, 1).is_same(order_of(shards, unknown));
  };
  EXPECT_TRUE(is_same({{0, {1, 1}}, {1, {1}}})) << "both have records of one thousandth";
  EXPECT_FALSE(is_same({{0, {1, 1, 1}}, {1, {1}}}));
  EXPECT_FALSE(is_same({{0, {1, 1, 1}}, {1, {1}}, {5, {1}}})) << "also if later ones are in sequence";
  EXPECT_TRUE(is_same({{999, {1}}}, {3000}));
  EXPECT_FALSE(is_same({{998, {1}}}, {3000}));
  EXPECT_FALSE(is_same({{1, {1}}, {0, {1}}})) << "version 1 keeps the order of the manifest";
  EXPECT_FALSE(order_of({{0, {1}}, {1, {1}}}).is_same(order_of({{0, {1}}, {1, {2}}})));
  EXPECT_FALSE(order_of({{0, {1}}}).is_same(order_of({{0, {1, 0, 0}}, {5, {0, 1}}})));
  EXPECT_FALSE(order_of({{0, {1, 1, 1}}, {1, {1}}}, {}, 2).is_same(order_of({}, {3, 1}, 1)));
  EXPECT_FALSE(order_of({}, {3, 1}, 1).is_same(order_of({{0, {1, 1, 1}}, {1, {1}}}, {}, 2)));
}

TEST(DataOrder, TheValidationPartIsTheEndAndNeverMoreThanAll) {
  EXPECT_EQ(order_of({}, {7}, 1).validation_range(0.0), (RecordRange{7, 0}));
  EXPECT_EQ(order_of({}, {7}, 1).validation_range(0.99), (RecordRange{0, 7}));
  EXPECT_EQ(order_of({}, {7}, 1).validation_range(0.3), (RecordRange{4, 3}));
  EXPECT_EQ(order_of({}, {7}).validation_range(0.0), (RecordRange{7, 0}));
  EXPECT_EQ(order_of({}, {7}).validation_range(0.9999), (RecordRange{0, 7}));
  EXPECT_EQ(order_of({}, {1000}).validation_range(0.0011), (RecordRange{998, 2}));
}

}  // namespace
}  // namespace headrace

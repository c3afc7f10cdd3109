#include "headrace/prepare/ignite/partition_ranges.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"
#include "headrace/net/ignite/cache_node_test.h"
#include "headrace/prepare/ignite/cache_rows.h"
#include "headrace/prepare/ignite/sql_node_test.h"

namespace headrace {
namespace {

using ignite::encode_long;
using ignite::encode_string;
using testing::ElementsAre;
using testing::HasSubstr;

// Partitions with these keys; the value of key 7 is "row 7".
ignite::NodeWithCache cache_with(const std::vector<std::vector<int>>& keys) {
  ignite::NodeWithCache node{.cache = ignite::java_hash("films")};
  for (const std::vector<int>& partition : keys) {
    auto& rows = node.partitions.emplace_back();
    for (const int key : partition) rows.emplace_back(encode_long(key), encode_string(concat("row ", key)));
  }
  return node;
}

Result<std::vector<PartitionRange>> listed(ignite::NodeWithCache& cache, std::uint64_t range_bytes) {
  ignite::ScriptedNode node({[&](ignite::Peer& peer) { cache.serve(peer); }});
  return list_partitions(ignite::Cache(cluster_of(node), "films"), range_bytes, {});
}

// The rows of a range, as "id: value"; the last is the error if there is one.
std::vector<std::string> read(ignite::NodeWithCache& cache, const PartitionRange& range,
                              const std::vector<std::string>& columns = {}) {
  ignite::ScriptedNode node({[&](ignite::Peer& peer) { cache.serve(peer); }});
  const auto source =
      make_ignite_cache_rows(cluster_of(node), "films", columns, range,
                             {.name = "slice", .rows = range.rows, .digest = range.digest}, 1 << 20, {});
  std::vector<std::string> rows;
  while (true) {
    const auto row = source->next();
    if (!row) {
      rows.push_back(row.error().message);
      return rows;
    }
    if (!*row) return rows;
    std::string text =
        concat((*row)->id, (*row)->verdict == RowVerdict::kRow ? ":" : concat(" ", (*row)->detail));
    for (const NamedCell& cell : (*row)->cells) {
      if (cell.name == "val") text += concat(" ", as_text(cell.cell.data));
    }
    rows.push_back(std::move(text));
  }
}

TEST(PartitionRanges, AreRunsOfWholePartitionsWithRows) {
  // A row has 19 bytes.
  auto cache = cache_with({{}, {1, 2}, {}, {3}, {4, 5, 6}, {7}, {}});
  const auto ranges = listed(cache, 50);
  ASSERT_TRUE(ranges) << ranges.error().message;
  std::vector<std::string> shown;
  for (const PartitionRange& range : *ranges)
    shown.push_back(
        concat(range.first, "-", range.last, ": ", range.rows, " rows, ", range.size_bytes, " bytes"));
  EXPECT_THAT(shown, ElementsAre("1-3: 3 rows, 57 bytes", "4-4: 3 rows, 57 bytes", "5-5: 1 rows, 19 bytes"));
}

TEST(PartitionRanges, GiveTheirRowsPartitionByPartition) {
  auto cache = cache_with({{9, 1}, {}, {5, 3}});
  const auto ranges = listed(cache, 1 << 20);
  ASSERT_TRUE(ranges) << ranges.error().message;
  ASSERT_EQ(ranges->size(), 1U);
  cache.scanned.clear();
  EXPECT_THAT(read(cache, ranges->front()), ElementsAre("9: row 9", "1: row 1", "5: row 5", "3: row 3"));
  EXPECT_THAT(cache.scanned, ElementsAre(0, 1, 2));
  EXPECT_THAT(read(cache, ranges->front(), {"key"}), ElementsAre("9:", "1:", "5:", "3:"));
}

TEST(PartitionRanges, NoticeEachChangeOfTheirRows) {
  const auto cache = cache_with({{9, 1}, {5}});
  auto before = cache;
  const auto ranges = listed(before, 1 << 20);
  ASSERT_TRUE(ranges) << ranges.error().message;
  for (const auto& other : {cache_with({{1, 9}, {5}}), cache_with({{9}, {1, 5}}), cache_with({{9, 1}, {}}),
                            cache_with({{9, 1}, {5, 6}}), cache_with({{9, 1}, {6}})}) {
    auto after = other;
    EXPECT_THAT(read(after, ranges->front()).back(), HasSubstr("slice: the rows have changed"));
  }
}

TEST(PartitionRanges, RejectARowWithoutAFormAndGoOn) {
  auto cache = cache_with({{1, 2}});
  // A map with nothing in it.
  cache.partitions[0][0].second = {std::byte{25}, {}, {}, {}, {}, std::byte{1}};
  const auto ranges = listed(cache, 1 << 20);
  ASSERT_TRUE(ranges) << ranges.error().message;
  EXPECT_THAT(read(cache, ranges->front()),
              ElementsAre(HasSubstr("1 the Ignite field 'val' has no form"), "2: row 2"));
}

TEST(PartitionRanges, NeedKeysOfOneTypeAndARow) {
  auto mixed = cache_with({{1}, {2}});
  mixed.partitions[1][0].first = encode_string("2");
  EXPECT_THAT(listed(mixed, 1 << 20).error().message, HasSubstr("keys of several types"));
  auto empty = cache_with({{}, {}});
  EXPECT_EQ(listed(empty, 1 << 20).error().code, Code::kNotFound);
}

TEST(PartitionRanges, ComeBackFromTheirPlaceOnlyAsTheyWere) {
  const auto range = parse_partition_range(partitions_to_json({.first = 3, .last = 9, .rows = 17}));
  ASSERT_TRUE(range) << range.error().message;
  EXPECT_EQ(range->first, 3);
  EXPECT_EQ(range->last, 9);
  EXPECT_EQ(range->rows, 17U);
  EXPECT_TRUE(parse_partition_range(R"({"first":-1,"last":-1,"rows":2})"));
  for (const char* wrong : {"", "{}", R"({"first":-1,"last":4,"rows":2})", R"({"first":5,"last":4,"rows":2})",
                            R"({"first":0,"last":2000000000,"rows":2})", R"({"first":0,"last":1,"rows":-2})"})
    EXPECT_EQ(parse_partition_range(wrong).error().code, Code::kDataLoss) << wrong;
}

}  // namespace
}  // namespace headrace

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
              ElementsAre(HasSubstr("1 the Ignite field 'val' cannot become a feature"), "2: row 2"));
}

TEST(PartitionRanges, NeedKeysOfOneTypeAndARow) {
  auto mixed = cache_with({{1}, {2}});
  mixed.partitions[1][0].first = encode_string("2");
  EXPECT_THAT(listed(mixed, 1 << 20).error().message, HasSubstr("keys of several types"));
  auto empty = cache_with({{}, {}});
  EXPECT_EQ(listed(empty, 1 << 20).error().code, Code::kNotFound);
}

// An object without fields. It names its class if the class has no id.
Bytes object_of_type(std::int32_t type_id, std::string_view class_name = {}) {
  Bytes name = type_id == 0 ? encode_string(class_name) : Bytes();
  Bytes object{std::byte{103}, std::byte{1}, std::byte{}, std::byte{}};
  append_little_endian(object, type_id);
  append_little_endian(object, std::int32_t{0});  // hash code
  append_little_endian(object, static_cast<std::int32_t>(24 + name.size()));
  append_little_endian(object, std::int32_t{0});  // schema
  append_little_endian(object, std::int32_t{0});  // footer
  append(object, name);
  return object;
}

Bytes wrapped(const Bytes& object) {
  Bytes out{std::byte{27}};
  append_little_endian(out, static_cast<std::int32_t>(object.size() + 3));
  append(out, Bytes(3));
  append(out, object);
  append_little_endian(out, std::int32_t{3});  // offset
  return out;
}

Bytes enum_of_type(std::int32_t type_id) {
  Bytes out{std::byte{38}};
  append_little_endian(out, type_id);
  append_little_endian(out, std::int32_t{0});  // ordinal
  return out;
}

TEST(PartitionRanges, KnowObjectsOfSeveralTypesAsKeysOfSeveralTypes) {
  const auto listed_keys = [](const Bytes& one, const Bytes& other) {
    auto cache = cache_with({{1}, {2}});
    cache.partitions[0][0].first = one;
    cache.partitions[1][0].first = other;
    const auto ranges = listed(cache, 1 << 20);
    return ranges ? std::string("listed") : ranges.error().message;
  };
  const Bytes film = object_of_type(7), person = object_of_type(8);
  EXPECT_EQ(listed_keys(film, film), "listed");
  EXPECT_EQ(listed_keys(film, wrapped(film)), "listed");
  EXPECT_EQ(listed_keys(object_of_type(0, "Film"), object_of_type(0, "Film")), "listed");
  EXPECT_EQ(listed_keys(enum_of_type(7), enum_of_type(7)), "listed");
  EXPECT_THAT(listed_keys(film, person), HasSubstr("103 of the type id 7 and 103 of the type id 8"));
  EXPECT_THAT(listed_keys(film, wrapped(person)), HasSubstr("keys of several types"));
  EXPECT_THAT(listed_keys(object_of_type(0, "Film"), object_of_type(0, "Person")),
              HasSubstr("keys of several types"));
  EXPECT_THAT(listed_keys(enum_of_type(7), enum_of_type(8)), HasSubstr("keys of several types"));
  // A wrapped object that is damaged; its decoder says so.
  EXPECT_EQ(listed_keys({std::byte{27}, {}, {}, {}, {}, {}, {}, {}, {}}, wrapped({})), "listed");
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

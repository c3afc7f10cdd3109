#include "headrace/prepare/sort/merged_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "headrace/base/sanitized_test.h"
#include "headrace/prepare/sort/counting_store_test.h"
#include "headrace/prepare/sort/owned_row_test.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kLastOrder = ~std::uint64_t{0};

// Rows cut into spills, each made at random.
struct Cut {
  std::vector<RowsReader> readers;
  std::vector<SliceSpill> spills;
  std::vector<OwnedRow> rows;  // in order

  void sort_rows() { std::sort(rows.begin(), rows.end(), ranks_before); }
};

// Spills of unequal sizes, so that their buckets are, too. Each lies in one of the stores, or in memory if
// there is none.
Cut cut_at_random(std::vector<OwnedRow> rows, std::size_t spill_count, std::mt19937_64& random,
                  const std::vector<std::shared_ptr<Store>>& stores) {
  std::vector<std::vector<OwnedRow>> parts(spill_count);
  for (OwnedRow& row : rows) {
    const std::size_t part = below(random, 1 + below(random, spill_count));
    row.slice = static_cast<std::uint32_t>(part / 2);
    parts[part].push_back(row);
  }
  Cut cut{.rows = std::move(rows)};
  cut.sort_rows();
  for (std::size_t i = 0; i < spill_count; ++i) {
    Bytes spill = make_spill("train", parts[i]);
    Result<RowsReader> reader = stores.empty() ? RowsReader::open(std::move(spill), "spill")
                                               : open_in(stores[i % stores.size()], std::to_string(i), spill);
    EXPECT_TRUE(reader);
    cut.readers.push_back(*std::move(reader));
  }
  for (std::size_t i = 0; i < spill_count; ++i)
    cut.spills.push_back({&cut.readers[i], static_cast<std::uint32_t>(i / 2)});
  std::shuffle(cut.spills.begin(), cut.spills.end(), random);
  return cut;
}

std::vector<OwnedRow> cut_to(const std::vector<OwnedRow>& rows, OrderRange range) {
  std::vector<OwnedRow> out;
  for (const OwnedRow& row : rows) {
    if (row.order >= range.first && row.order <= range.last) out.push_back(row);
  }
  return out;
}

void expect_merged(const Cut& cut, const MergeOptions& options) {
  MergedRows rows(cut.spills, "train", options);
  const Result<std::vector<OwnedRow>> merged = take_all(rows);
  ASSERT_TRUE(merged) << merged.error().message;
  ASSERT_EQ(*merged, cut_to(cut.rows, options.range));
  const auto after = rows.next();
  EXPECT_TRUE(after && !*after);
}

TEST(MergedRows, OfRowsCutAnyhowAreAllOfThemInOrder) {
  for (unsigned seed = 0; seed < cases(60); ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::shared_ptr<Store>> stores;
    for (unsigned i = 0; i < seed % 3; ++i) stores.push_back(make_memory_store("m"));
    const int order_bits = seed % 2 == 0 ? 64 : static_cast<int>(below(random, 14));
    const Cut cut = cut_at_random(random_rows(random, below(random, 5000), order_bits), 1 + below(random, 12),
                                  random, stores);
    expect_merged(cut, {});
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t a = random(), b = random();
      expect_merged(cut, {.range = {std::min(a, b), std::max(a, b)},
                          .hold_bytes = std::uint64_t{1} << below(random, 20)});
    }
    expect_merged(cut, {.hold_bytes = 1});
    if (cut.rows.empty()) continue;
    const std::uint64_t order = cut.rows[below(random, cut.rows.size())].order;
    expect_merged(cut, {.range = {order, order}, .hold_bytes = 1});
    expect_merged(cut, {.range = {order, kLastOrder}, .hold_bytes = 1000});
    expect_merged(cut, {.range = {0, order}, .hold_bytes = 1000});
  }
}

TEST(MergedRows, AmongEqualRowsTheSliceDecidesThenThePlace) {
  const Result<RowsReader> one =
      RowsReader::open(make_spill("train", {{.place = {0, 2}}, {.place = {1, 0}}}), "one");
  const Result<RowsReader> two =
      RowsReader::open(make_spill("train", {{.place = {0, 1}}, {.place = {0, 3}}}), "two");
  const auto places = [](std::vector<SliceSpill> spills) {
    MergedRows rows(spills, "train");
    std::vector<std::tuple<unsigned, unsigned, unsigned>> out;
    const Result<std::vector<OwnedRow>> merged = take_all(rows);
    for (const OwnedRow& row : *merged) out.emplace_back(row.slice, row.place.file, row.place.row);
    return out;
  };
  using testing::ElementsAre;
  using testing::FieldsAre;
  EXPECT_THAT(places({{&*one, 1}, {&*two, 1}}),
              ElementsAre(FieldsAre(1, 0, 1), FieldsAre(1, 0, 2), FieldsAre(1, 0, 3), FieldsAre(1, 1, 0)));
  EXPECT_THAT(places({{&*one, 7}, {&*two, 2}}),
              ElementsAre(FieldsAre(2, 0, 1), FieldsAre(2, 0, 3), FieldsAre(7, 0, 2), FieldsAre(7, 1, 0)));
}

TEST(MergedRows, OfSeveralSplitsAreOneSequence) {
  std::mt19937_64 random(7);
  const std::vector<std::string_view> names = {"a", "b", "c"};
  const std::vector<OwnedRow> rows = random_rows(random, 2000, 6);
  std::vector<RowsBuilder> builders(3);
  for (const OwnedRow& row : rows) ASSERT_TRUE(add(builders[below(random, 3)], names[row.place.file], row));
  std::vector<RowsReader> readers;
  for (RowsBuilder& builder : builders)
    readers.push_back(*RowsReader::open(std::move(builder).finish(), "spill"));
  std::vector<SliceSpill> spills;
  for (const RowsReader& reader : readers) spills.push_back({&reader, 0});

  // Requests only some of the splits, in another order than the spills have them. The number of a row's
  // split is its number in the request.
  const std::vector<std::string_view> asked = {"c", "none", "a"};
  std::vector<OwnedRow> expected;
  for (const OwnedRow& row : rows) {
    if (row.place.file != 1) expected.push_back(row);
  }
  std::sort(expected.begin(), expected.end(), ranks_before);
  MergedRows merged(spills, asked, {.hold_bytes = 1000});
  for (const OwnedRow& row : expected) {
    const auto next = merged.next();
    ASSERT_TRUE(next && *next);
    ASSERT_EQ(owned((*next)->row), row);
    ASSERT_EQ(asked[(*next)->split], names[row.place.file]);
  }
  EXPECT_FALSE(*merged.next());
}

TEST(MergedRows, OfNoRunsOfAnotherSplitOrOfAnEmptyRangeAreNone) {
  const Result<RowsReader> spill = RowsReader::open(make_spill("train", {{.order = 5}}), "spill");
  const std::vector<SliceSpill> spills = {{&*spill, 0}};
  const auto expect_none = [](MergedRows rows) {
    const auto row = rows.next();
    ASSERT_TRUE(row) << row.error().message;
    EXPECT_FALSE(*row);
  };
  expect_none(MergedRows({}, "train"));
  expect_none(MergedRows(spills, "test"));
  expect_none(MergedRows(spills, "train", {.range = {6, 4}}));
  expect_none(MergedRows(spills, "train", {.range = {6, kLastOrder}}));
}

TEST(MergedRows, HoldNearTheLimitAndReadEachByteOnceWithOneReadForEachStore) {
  std::mt19937_64 random(5);
  const auto near = std::make_shared<CountingStore>(make_memory_store("near"));
  const auto far = std::make_shared<CountingStore>(make_memory_store("far"));
  const Cut cut = cut_at_random(random_rows(random, 100'000), 6, random, {near, far});
  std::uint64_t row_bytes = 0;
  for (const RowsReader& reader : cut.readers) row_bytes += reader.splits()[0].bytes;
  near->reads.clear();
  far->reads.clear();
  constexpr std::uint64_t kHoldBytes = 256 << 10;
  expect_merged(cut, {.hold_bytes = kHoldBytes});
  std::uint64_t read_bytes = 0;
  for (const CountingStore* store : {near.get(), far.get()}) {
    for (const auto& read : store->reads) {
      read_bytes += read.bytes;
      EXPECT_LE(read.bytes, kHoldBytes);
      EXPECT_LE(read.requests, 3);
    }
    EXPECT_LE(store->reads.size(), 2 + 3 * row_bytes / kHoldBytes);
  }
  EXPECT_EQ(read_bytes, row_bytes);
}

TEST(MergedRows, ManySmallRunsDoNotMakeForSmallPieces) {
  std::mt19937_64 random(6);
  const auto store = std::make_shared<CountingStore>(make_memory_store("m"));
  Cut cut = cut_at_random(random_rows(random, 20'000), 1, random, {store});
  cut.readers.reserve(101);
  for (std::uint32_t i = 1; i <= 100; ++i) {
    const std::vector<OwnedRow> rows = {
        {random(), 0, "small", {}, {{CellKind::kBytes, std::string(9000, 'x')}}}};
    cut.readers.push_back(*open_in(store, "small-" + std::to_string(i), make_spill("train", rows)));
    cut.spills.push_back({&cut.readers.back(), i});
    cut.rows.push_back(rows[0]);
    cut.rows.back().slice = i;
  }
  cut.spills[0].reader = &cut.readers[0];
  cut.sort_rows();
  store->reads.clear();
  expect_merged(cut, {.hold_bytes = 400 << 10});  // less than the small ones have
  EXPECT_LE(store->reads.size(), 40);
}

TEST(MergedRows, ADamagedRunIsAnErrorThatStays) {
  std::mt19937_64 random(8);
  const Bytes sound = make_spill("train", random_rows(random, 1000));
  Bytes damaged = sound;
  const std::shared_ptr<Store> store = make_memory_store("m");
  const Result<RowsReader> first = open_in(store, "first", sound);
  damaged[first->find_table("train")->offset_bytes(9)] ^= std::byte{1};
  const Result<RowsReader> second = open_in(store, "second", damaged);
  ASSERT_TRUE(first && second);
  const std::vector<SliceSpill> spills = {{&*first, 0}, {&*second, 1}};
  MergedRows rows(spills, "train", {.hold_bytes = 8 << 10});
  std::size_t given = 0;
  Result<std::optional<MergedRow>> row = rows.next();
  for (; row && *row; row = rows.next()) ++given;
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code, Code::kDataLoss);
  EXPECT_THAT(row.error().message, HasSubstr("memory://m/second, from byte "));
  EXPECT_GT(given, 500);
  EXPECT_LT(given, 1300);
  EXPECT_EQ(rows.next().error().message, row.error().message);
}

}  // namespace
}  // namespace headrace

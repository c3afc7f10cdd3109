#include "headrace/prepare/sort/rows_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "headrace/base/text.h"
#include "headrace/prepare/sort/counting_store_test.h"
#include "headrace/prepare/sort/owned_row_test.h"
#include "headrace/prepare/sort/row_encoding.h"
#include "headrace/prepare/sort/sealed_spill_test.h"
#include "headrace/store/file/file_store.h"
#include "headrace/store/layers/testing/faulty.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kMost = ~std::uint64_t{0};

auto* const scratch = static_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder()));

std::vector<OwnedRow> one_of_each_cell() {
  return {{1, 2, "", {}, {}},
          {3,
           4,
           "of all kinds",
           {0xffffffff, kMost},
           {{},
            {CellKind::kBytes, ""},
            {CellKind::kBytes, std::string("\0\xff text", 7)},
            {CellKind::kBytes, std::string(100'000, 'x')},
            {CellKind::kFloats, ""},
            {CellKind::kFloats, "12345678"},
            {CellKind::kInt64s, "12345678"},
            {CellKind::kByteStrings, ""},
            {CellKind::kByteStrings, std::string("\2\0\0\0hi\0\0\0\0", 10)}}},
          {kMost,
           kMost,
           "references",
           {1, 128},
           {{CellKind::kReference, "s3://a/b"},
            {CellKind::kReference, "s3://a/b", "v", {}, 7},
            {CellKind::kReference, "s3://a/b", "", 0, 0},
            {CellKind::kReference, "", "", kMost, {}}}}};
}

// 1,000 rows, 16 buckets.
std::vector<OwnedRow> thousand_rows() {
  std::mt19937_64 random(7);
  std::vector<OwnedRow> rows = random_rows(random, 1000);
  std::sort(rows.begin(), rows.end(), ranks_before);
  return rows;
}

std::vector<OwnedRow> within(const std::vector<OwnedRow>& rows, OrderRange range) {
  std::vector<OwnedRow> out;
  for (const OwnedRow& row : rows) {
    if (row.order >= range.first && row.order <= range.last) out.push_back(row);
  }
  return out;
}

void expect_rows(const RowsReader& reader, OrderRange range, const std::vector<OwnedRow>& expected) {
  const Result<std::vector<OwnedRow>> rows = read_rows(reader, "train", range);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(*rows, expected) << "orders " << range.first << " to " << range.last;
}

void expect_every_range(const RowsReader& reader, const std::vector<OwnedRow>& rows) {
  const BucketTable& table = *reader.find_table("train");
  ASSERT_EQ(table.buckets().size(), 16);
  expect_rows(reader, {}, rows);
  for (std::size_t b = 0; b < table.buckets().size(); ++b) {
    const std::uint64_t first = table.first_order(b), last = table.last_order(b);
    for (const OrderRange range : {OrderRange{first, last},
                                   {first, first},
                                   {last, last},
                                   {first, kMost},
                                   {0, last},
                                   {0, first},
                                   {last, kMost},
                                   {first + 1, last - 1},
                                   {rows[b].order, rows[b].order},
                                   {rows[b].order, last}}) {
      expect_rows(reader, range, within(rows, range));
    }
  }
}

TEST(RowsReader, EveryKindOfCellComesBack) {
  const std::vector<OwnedRow> rows = one_of_each_cell();
  const Result<RowsReader> reader = RowsReader::open(make_spill("train", rows), "spill");
  ASSERT_TRUE(reader) << reader.error().message;
  expect_rows(*reader, {}, rows);
}

TEST(RowsReader, RowsAscendByOrderTieIdAndPlace) {
  std::mt19937_64 random(3);
  std::vector<OwnedRow> rows = random_rows(random, 300, 2);
  const Result<RowsReader> reader = RowsReader::open(make_spill("train", rows), "spill");
  ASSERT_TRUE(reader) << reader.error().message;
  std::sort(rows.begin(), rows.end(), ranks_before);
  expect_rows(*reader, {}, rows);
}

TEST(RowsReader, EachSplitHasItsRowsAlone) {
  RowsBuilder builder;
  for (const char* split : {"b", "", "a", "b"}) {
    ASSERT_TRUE(add(builder, split, {.order = 1, .id = split}));
  }
  const Result<RowsReader> reader = RowsReader::open(std::move(builder).finish(), "spill");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(read_rows(*reader, "b")->size(), 2);
  EXPECT_EQ(read_rows(*reader, "a")->at(0).id, "a");
  EXPECT_EQ(read_rows(*reader, "")->at(0).id, "");
  EXPECT_TRUE(read_rows(*reader, "c")->empty());
  EXPECT_TRUE(read_rows(*reader, "a", {2, 1})->empty());
}

TEST(RowsReader, GivesTheRowsOfARangeFromMemory) {
  const std::vector<OwnedRow> rows = thousand_rows();
  const Bytes spill = make_spill("train", rows);
  const Result<RowsReader> borrowing = RowsReader::open(BytesView(spill), "spill");
  ASSERT_TRUE(borrowing) << borrowing.error().message;
  expect_every_range(*borrowing, rows);
  Result<RowsReader> owning = RowsReader::open(Bytes(spill), "spill");
  const RowsReader moved = *std::move(owning);
  expect_every_range(moved, rows);
}

TEST(RowsReader, GivesTheRowsOfARangeFromAMemoryStore) {
  const std::vector<OwnedRow> rows = thousand_rows();
  const Result<RowsReader> reader = open_in(make_memory_store("m"), "spill", make_spill("train", rows));
  ASSERT_TRUE(reader) << reader.error().message;
  expect_every_range(*reader, rows);
}

TEST(RowsReader, GivesTheRowsOfARangeFromFiles) {
  const std::vector<OwnedRow> rows = thousand_rows();
  const Result<RowsReader> reader =
      open_in(make_file_store(scratch->new_root()), "spill", make_spill("train", rows));
  ASSERT_TRUE(reader) << reader.error().message;
  expect_every_range(*reader, rows);
}

TEST(RowsReader, FromMemoryRowsAreNotCopied) {
  const Bytes spill = make_spill("train", one_of_each_cell());
  const Result<RowsReader> reader = RowsReader::open(BytesView(spill), "spill");
  Result<RowRange> range = reader->read("train", {3, 3});
  const Result<std::optional<OrderedRow>> row = range->next();
  ASSERT_TRUE(row && *row);
  const std::byte* const data = (*row)->cells[3].data.data();
  EXPECT_TRUE(data > spill.data() && data < spill.data() + spill.size());
}

TEST(RowsReader, OneRequestOpensAndOneReadsTheBucketsOfARange) {
  const auto store = std::make_shared<CountingStore>(make_memory_store("m"));
  const std::vector<OwnedRow> rows = thousand_rows();
  Bytes spill = make_spill("train", rows);
  const Result<RowsReader> reader = open_in(store, "spill", spill);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(store->reads.size(), 1);
  const BucketTable& table = *reader->find_table("train");
  ASSERT_TRUE(reader->read("train", {table.last_order(2), table.first_order(4)}));
  ASSERT_EQ(store->reads.size(), 2);
  EXPECT_EQ(store->reads[1].requests, 1);
  EXPECT_EQ(store->reads[1].bytes, table.offset_bytes(5) - table.offset_bytes(2));
}

TEST(RowsReader, LargeTablesTakeASecondRequest) {
  const auto store = std::make_shared<CountingStore>(make_memory_store("m"));
  RowsBuilder builder;
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(add(builder, std::to_string(i) + std::string(1000, 'x'), {}));
  const Result<RowsReader> reader = open_in(store, "spill", std::move(builder).finish());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->splits().size(), 300);
  EXPECT_EQ(store->reads.size(), 2);
}

TEST(RowsReader, ContentHashesAscendAndTellThePlace) {
  RowsBuilder builder;
  ASSERT_TRUE(add(builder, "train", {.place = {2, 300}}, ContentDigest{7, 2}));
  ASSERT_TRUE(add(builder, "test", {.place = {1, 9}}, ContentDigest{7, 2}));
  ASSERT_TRUE(add(builder, "train", {.place = {0, 1}}));
  ASSERT_TRUE(add(builder, "train", {.place = {9, kMost}}, ContentDigest{7, 1}));
  const auto store = std::make_shared<CountingStore>(make_memory_store("m"));
  const Result<RowsReader> reader = open_in(store, "spill", std::move(builder).finish());
  ASSERT_TRUE(reader) << reader.error().message;
  const Result<std::vector<ContentHash>> hashes = reader->content_hashes();
  ASSERT_TRUE(hashes) << hashes.error().message;
  EXPECT_EQ(*hashes,
            (std::vector<ContentHash>{{{7, 1}, {9, kMost}, 1}, {{7, 2}, {1, 9}, 0}, {{7, 2}, {2, 300}, 1}}));
  EXPECT_EQ(store->reads.back().bytes, 3 * kContentHashBytes);
}

TEST(RowsReader, AHashOfASplitThatIsNotThereIsDamage) {
  RowsBuilder builder;
  ASSERT_TRUE(add(builder, "train", {}, ContentDigest{7, 2}));
  Bytes spill = std::move(builder).finish();
  const auto reader = RowsReader::open(BytesView(spill), "spill");
  ASSERT_TRUE(reader) << reader.error().message;
  const BucketTable& table = *reader->find_table("train");
  const std::uint64_t hashes = table.offset_bytes(table.buckets().size());
  spill[hashes + 28] = std::byte{1};
  seal_spill(spill);
  const auto damaged = RowsReader::open(BytesView(spill), "spill");
  ASSERT_TRUE(damaged) << damaged.error().message;
  const auto content_hashes = damaged->content_hashes();
  ASSERT_FALSE(content_hashes);
  EXPECT_EQ(content_hashes.error().code, Code::kDataLoss);
  EXPECT_THAT(content_hashes.error().message, HasSubstr("a hash of no split"));
}

// Any one bit of what the call reads.
void expect_damage_mended(std::uint64_t call, const std::vector<OwnedRow>& rows) {
  const Bytes spill = make_spill("train", rows);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto account = std::make_shared<FaultAccount>();
    const std::shared_ptr<Store> store = make_faulty(
        make_memory_store("m"), {.only_call = call, .faults = {Fault::kCorruptRead}, .seed = seed}, account);
    const Result<RowsReader> reader = open_in(store, "spill", spill);
    ASSERT_TRUE(reader) << reader.error().message;
    expect_rows(*reader, {}, rows);
    EXPECT_EQ(account->faults().size(), 1);
  }
}

TEST(RowsReader, DamageOfTablesOnTheWayIsReadAgain) {
  // The write comes first, and then the read of the end, which is all of so small a spill.
  expect_damage_mended(2, {{.order = 1}});
}

TEST(RowsReader, DamageOfRowsOnTheWayIsReadAgain) {
  // The read of the rows comes after the write and the read of the end.
  expect_damage_mended(3, thousand_rows());
}

TEST(RowsReader, DamageThatStaysIsAnErrorThatNamesObjectAndOffset) {
  const std::vector<OwnedRow> rows = thousand_rows();
  Bytes spill = make_spill("train", rows);
  spill[8] ^= std::byte{1};
  const Result<RowsReader> reader = open_in(make_memory_store("m"), "work/rows-1-2", spill);
  ASSERT_TRUE(reader) << reader.error().message;
  const Result<RowRange> range = reader->read("train", {});
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().code, Code::kDataLoss);
  EXPECT_THAT(range.error().message, HasSubstr("memory://m/work/rows-1-2, from byte 8: bytes that differ"));
  const std::uint64_t second = reader->find_table("train")->first_order(1);
  expect_rows(*reader, {second, kMost}, within(rows, {second, kMost}));
}

TEST(RowsReader, AnObjectThatWasReplacedIsNotRead) {
  const std::shared_ptr<Store> store = make_memory_store("m");
  const Bytes spill = make_spill("train", one_of_each_cell());
  const Result<RowsReader> reader = open_in(store, "spill", spill);
  ASSERT_TRUE(store->write("spill", make_spill("train", {{.id = "another"}}), {}));
  const Result<RowRange> range = reader->read("train", {});
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().code, Code::kFailedPrecondition);
}

TEST(RowsReader, AnObjectThatIsNotThereIsNotFound) {
  const Result<RowsReader> reader =
      RowsReader::open(Location{make_memory_store("m"), "rows-0-0", {}}, {}, 1000);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, Code::kNotFound);
}

// All rows of a spill, or why it cannot be read.
Result<std::vector<OwnedRow>> read_everything(const Result<RowsReader>& reader) {
  if (!reader) return reader.error();
  std::vector<OwnedRow> all;
  for (const RowsSplit& split : reader->splits()) {
    HEADRACE_TRY(const std::vector<OwnedRow> rows, read_rows(*reader, split.name));
    all.insert(all.end(), rows.begin(), rows.end());
    all.push_back({.id = split.name});
  }
  HEADRACE_TRY(const auto hashes, reader->content_hashes());
  for (const ContentHash& hash : hashes)
    all.push_back({.order = hash.digest.first, .tie = hash.digest.second, .place = hash.place});
  return all;
}

Bytes small_spill() {
  RowsBuilder builder;
  for (const OwnedRow& row : one_of_each_cell()) {
    if (row.id == "of all kinds") continue;  // which is large
    EXPECT_TRUE(add(builder, "train", row, ContentDigest{row.order, row.tie}));
  }
  EXPECT_TRUE(add(builder, "test", {5, 6, "t", {1, 1}, {{CellKind::kInt64s, "12345678"}}}));
  return std::move(builder).finish();
}

TEST(RowsReader, AnyBitThatIsChangedIsNoticed) {
  const Bytes spill = small_spill();
  const Result<std::vector<OwnedRow>> expected = read_everything(RowsReader::open(BytesView(spill), "spill"));
  ASSERT_TRUE(expected) << expected.error().message;
  const std::shared_ptr<Store> store = make_memory_store("m");
  for (std::size_t i = 0; i < 8 * spill.size(); ++i) {
    Bytes damaged = spill;
    damaged[i / 8] ^= std::byte{1} << (i % 8);
    const auto in_memory = read_everything(RowsReader::open(BytesView(damaged), "spill"));
    ASSERT_FALSE(in_memory) << "byte " << i / 8;
    EXPECT_EQ(in_memory.error().code, Code::kDataLoss) << in_memory.error().message;
    const auto in_store = read_everything(open_in(store, "spill", damaged));
    if (i / 8 < kRowsHeader.size()) {  // which nobody reads there
      EXPECT_EQ(*in_store, *expected);
      continue;
    }
    ASSERT_FALSE(in_store) << "byte " << i / 8;
    EXPECT_EQ(in_store.error().code, Code::kDataLoss) << in_store.error().message;
  }
}

TEST(RowsReader, ARunThatIsCutAnywhereIsAnError) {
  const Bytes spill = small_spill();
  const std::shared_ptr<Store> store = make_memory_store("m");
  for (std::size_t size = 0; size < spill.size(); ++size) {
    const BytesView cut = BytesView(spill).first(size);
    const Result<RowsReader> in_memory = RowsReader::open(cut, "spill");
    ASSERT_FALSE(in_memory) << size;
    EXPECT_EQ(in_memory.error().code, Code::kDataLoss) << in_memory.error().message;
    const Result<RowsReader> in_store = open_in(store, "spill", cut);
    ASSERT_FALSE(in_store) << size;
    EXPECT_EQ(in_store.error().code, Code::kDataLoss) << in_store.error().message;
  }
}

TEST(RowsReader, WhatHasRightChecksumsAndIsDamagedDoesNoHarm) {
  const Bytes spill = small_spill();
  int refused = 0;
  for (std::size_t i = 8; i < spill.size(); ++i) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      Bytes damaged = spill;
      damaged[i] = static_cast<std::byte>(value);
      seal_spill(damaged);
      const auto rows = read_everything(RowsReader::open(BytesView(damaged), "spill"));
      if (rows) continue;
      ++refused;
      EXPECT_EQ(rows.error().code, Code::kDataLoss) << rows.error().message;
    }
  }
  EXPECT_GT(refused, 300);
}

struct Contradiction {
  const char* name;
  std::function<void(Bytes&)> make;
  const char* message;
};

TEST(RowsReader, RowsThatContradictTheTablesAreErrors) {
  // Rows of 20 bytes, one byte of size before the order; the order's highest byte is the ninth.
  std::vector<OwnedRow> rows(100);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].order = i << 57;
  const Bytes spill = make_spill("train", rows);
  const auto set_order = [](std::size_t row, int value) {
    return [=](Bytes& bytes) { bytes[8 + 20 * row + 8] = static_cast<std::byte>(value); };
  };
  const std::size_t first_count = spill.size() - kRowsTrailerBytes - 17 - 2 * 16 + 8;
  const auto move_row = [=](Bytes& bytes) {
    bytes[first_count] = static_cast<std::byte>(std::to_integer<int>(bytes[first_count]) + 1);
    bytes[first_count + 16] = static_cast<std::byte>(std::to_integer<int>(bytes[first_count + 16]) - 1);
  };
  for (const Contradiction& contradiction : std::initializer_list<Contradiction>{
           {"not ascending", set_order(5, 1), "does not belong here"},
           {"of the next bucket", set_order(63, 0x80), "does not belong here"},
           {"another number of rows", move_row, "fewer rows than the table lists"},
           {"no row", [](Bytes& bytes) { bytes[8 + 20] = std::byte{0x7f}; }, "malformed cells"},
           {"a short row", [](Bytes& bytes) { bytes[8 + 20] = std::byte{1}; }, "a malformed row"}}) {
    Bytes damaged = spill;
    contradiction.make(damaged);
    seal_spill(damaged);
    const Result<RowsReader> reader = RowsReader::open(BytesView(damaged), "the spill");
    ASSERT_TRUE(reader) << contradiction.name << ": " << reader.error().message;
    const auto read = read_rows(*reader, "train", {0, kMost >> 1});
    ASSERT_FALSE(read) << contradiction.name;
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    EXPECT_THAT(read.error().message,
                AllOf(HasSubstr("the spill, from byte "), HasSubstr(contradiction.message)));
  }
}

}  // namespace
}  // namespace headrace

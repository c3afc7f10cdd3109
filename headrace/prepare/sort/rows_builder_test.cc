#include "headrace/prepare/sort/rows_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "headrace/base/crc32c.h"
#include "headrace/prepare/sort/owned_row_test.h"
#include "headrace/prepare/sort/row_encoding.h"

namespace headrace {
namespace {

using testing::HasSubstr;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

// The example of docs/formats/rows.md.
TEST(RowsBuilder, WritesTheExampleOfTheFormat) {
  const Bytes row = bytes_of(
      {0x19, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 'a', 0x00, 0x07, 0x01, 0x02, 'h', 'i', 0x00});
  const Bytes hash = bytes_of(
      {9, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  Bytes footer = bytes_of({0x46});
  append(footer, as_bytes(R"({"splits":[{"bytes":26,"name":"train","referenced_bytes":0,"rows":1}]})"));
  append(footer, bytes_of({0x14, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}));
  append_little_endian(footer, crc32c(row));
  append(footer, bytes_of({0x10, 0x22, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}));
  append_little_endian(footer, crc32c(hash));
  Bytes expected = to_bytes("HRROWS2\n");
  append(expected, row);
  append(expected, hash);
  append(expected, footer);
  append(expected, bytes_of({0x42, 0, 0, 0, 0, 0, 0, 0, 0x6d, 0, 0, 0, 0, 0, 0, 0}));
  append_little_endian(expected, crc32c(footer));
  append(expected, as_bytes("HRR2"));

  RowsBuilder builder;
  ASSERT_TRUE(
      add(builder, "train", {1, 2, "a", {0, 7}, {{CellKind::kBytes, "hi"}, {}}}, ContentDigest{9, 8}));
  EXPECT_EQ(builder.size_bytes(), row.size() + hash.size());
  EXPECT_EQ(std::move(builder).finish(), expected);
}

// FIPS 180-4's example "abc": the digest begins with ba7816bf8f01cfea414140de5dae2223.
TEST(DigestContent, IsTheFirstHalfOfTheSha256) {
  EXPECT_EQ(digest_content(as_bytes("abc")), (ContentDigest{0xeacf018fbf1678ba, 0x2322ae5dde404141}));
}

TEST(RowsBuilder, TheSameRowsGiveTheSameBytesInWhateverOrderTheyAreAdded) {
  std::mt19937_64 random(1);
  std::vector<OwnedRow> rows = random_rows(random, 500, 3);
  rows.push_back(rows.front());
  rows.push_back(rows.front());
  rows.back().cells.push_back({CellKind::kBytes, "the same but for this"});
  std::vector<std::pair<const char*, OwnedRow>> named;
  for (const OwnedRow& row : rows) named.emplace_back(below(random, 2) == 0 ? "train" : "test", row);
  const auto build = [&] {
    RowsBuilder builder;
    for (const auto& [split, row] : named)
      EXPECT_TRUE(add(builder, split, row, ContentDigest{row.tie, row.order}));
    return std::move(builder).finish();
  };
  const Bytes expected = build();
  for (int i = 0; i < 10; ++i) {
    std::shuffle(named.begin(), named.end(), random);
    EXPECT_EQ(build(), expected);
  }
}

TEST(RowsBuilder, OfNoRowsMakesARunWithoutSplits) {
  const Result<RowsReader> reader = RowsReader::open(RowsBuilder().finish(), "empty");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(reader->splits().empty());
  EXPECT_TRUE(reader->content_hashes()->empty());
}

TEST(RowsBuilder, CountsRowsAndBytesOfEachSplit) {
  RowsBuilder builder;
  const auto reference = [](std::optional<std::uint64_t> size) {
    return OwnedCell{CellKind::kReference, "file:///a", "", {}, size};
  };
  ASSERT_TRUE(add(builder, "train", {1, 1, "a", {}, {reference(10), reference({})}}));
  ASSERT_TRUE(add(builder, "train", {1, 1, "b", {}, {reference(5), {}}}));
  ASSERT_TRUE(add(builder, "\xc3\xa9\"\n", {1, 1, "c", {}, {}}));
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  ASSERT_TRUE(add(builder, "huge", {1, 1, "d", {}, {reference(kMost), reference(kMost)}}));
  const std::uint64_t size_bytes = builder.size_bytes();
  const Result<RowsReader> reader = RowsReader::open(std::move(builder).finish(), "spill");
  ASSERT_TRUE(reader) << reader.error().message;
  ASSERT_EQ(reader->splits().size(), 3);
  const auto& [huge, train, accented] =
      std::tie(reader->splits()[0], reader->splits()[1], reader->splits()[2]);
  EXPECT_EQ(huge.name, "huge");
  EXPECT_EQ(huge.referenced_bytes, kMost);
  EXPECT_EQ(train.name, "train");
  EXPECT_EQ(train.rows, 2);
  EXPECT_EQ(train.referenced_bytes, 15);
  EXPECT_EQ(accented.name, "\xc3\xa9\"\n");
  EXPECT_EQ(accented.bytes, 1 + 16 + 2 + 2);
  EXPECT_EQ(huge.bytes + train.bytes + accented.bytes, size_bytes);
}

TEST(RowsBuilder, ARowThatCannotBeWrittenIsRefusedAndNotAdded) {
  using namespace std::string_literals;
  RowsBuilder builder;
  const auto expect_refused = [&](const std::string& split, const OwnedRow& row, const char* message) {
    const Status status = add(builder, split, row, ContentDigest{1, 1});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(status.error().message, HasSubstr(message));
  };
  expect_refused("train", {.cells = {{CellKind::kFloats, "abcde"}}}, "5 bytes");
  expect_refused("train", {.cells = {{CellKind::kInt64s, "abcd"}}}, "4 bytes");
  for (const std::string& cut : {"abc"s, "\2\0\0\0a"s, "\1\0\0\0ab"s, "\xff\xff\xff\xff"s})
    expect_refused("train", {.cells = {{CellKind::kByteStrings, cut}}},
                   (std::to_string(cut.size()) + " bytes").c_str());
  expect_refused("train", {.cells = std::vector<OwnedCell>(kMaxRowCells + 1)}, "65537 cells");
  expect_refused("\xff", {}, "not UTF-8");
  expect_refused(std::string(kMaxSplitNameBytes + 1, 'a'), {}, "1024 bytes");
  EXPECT_EQ(builder.size_bytes(), 0);
  EXPECT_EQ(std::move(builder).finish(), RowsBuilder().finish());
}

TEST(RowsBuilder, NamesOfSplitsAreLimitedInNumber) {
  RowsBuilder builder;
  for (std::size_t i = 0; i < kMaxRowsSplits; ++i) ASSERT_TRUE(add(builder, std::to_string(i), {}));
  EXPECT_TRUE(add(builder, "0", {}));
  const Status status = add(builder, "one more", {});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message,
              HasSubstr("\"one more\" is one split too many: there can be at most 1024"));
  const Result<RowsReader> reader = RowsReader::open(std::move(builder).finish(), "spill");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->splits().size(), kMaxRowsSplits);
}

TEST(RowsBuilder, BucketsAreOfSixtyFourRowsAndSixteenKibibytesAtMostOnAverage) {
  EXPECT_EQ(BucketTable::bits_for(64, 16 << 10), 0);
  EXPECT_EQ(BucketTable::bits_for(65, 1000), 1);
  EXPECT_EQ(BucketTable::bits_for(1, (16 << 10) + 1), 1);
  EXPECT_EQ(BucketTable::bits_for(1000, 32 << 20), 11);
  EXPECT_EQ(BucketTable::bits_for(1'000'000'000, 1), 12);
}

}  // namespace
}  // namespace headrace

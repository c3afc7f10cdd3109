#include "headrace/record/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/wire.h"

namespace headrace {
namespace {

using testing::HasSubstr;

ShardIndex two_members() {
  ShardIndexBuilder builder(ShardEncoding::kGzip);
  builder.add_record(3);
  builder.add_member(42, 19);
  builder.add_record(5);
  builder.add_member(42, 21);
  return *std::move(builder).finish(84, 0xe3069283);
}

// The same bytes with a correct checksum.
Bytes sealed(Bytes data) {
  data.resize(data.size() - 4);
  const std::uint32_t checksum = crc32c(data);
  data.resize(data.size() + 4);
  store_little_endian(data.data() + data.size() - 4, checksum);
  return data;
}

TEST(ShardIndex, IsWrittenAsItsPageSays) {
  const std::string_view expected(
      "HRINDEX\0\1\0\0\0\1\0\0\0\x54\0\0\0\0\0\0\0\x83\x92\x06\xe3\2\0\0\0\2\0\0\0\0\0\0\0\x2a\x13\x2a\x15\6"
      "\4",
      46);
  const Bytes data = two_members().serialize();
  ASSERT_EQ(data.size(), 50U);
  EXPECT_EQ(as_text(BytesView(data).first(46)), expected);
  EXPECT_EQ(load_little_endian<std::uint32_t>(data.data() + 46), crc32c(as_bytes(expected)));
}

TEST(ShardIndex, FindsRecordsAndMembers) {
  const ShardIndex index = *ShardIndex::parse(two_members().serialize());
  EXPECT_EQ(index.record_count(), 2U);
  EXPECT_EQ(index.stream_bytes(), 40U);
  EXPECT_EQ(index.record_offset(1), 19U);
  EXPECT_EQ(index.record_bytes(1), 21U);
  ASSERT_EQ(index.members().size(), 2U);
  EXPECT_EQ(index.members()[1].compressed_offset, 42U);
  EXPECT_EQ(index.members()[1].uncompressed_offset, 19U);
  EXPECT_EQ(index.members()[1].first_record, 1U);
  EXPECT_EQ(index.members()[1].record_count, 1U);
  EXPECT_TRUE(index.members()[1].begins_with_record);
}

TEST(ShardIndex, AnyShardSurvivesSerialization) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const auto encoding = static_cast<ShardEncoding>(random() % 4);
    ShardIndexBuilder builder(encoding);
    std::uint64_t stream = 0, stored = 0, member = 0;
    const unsigned records = random() % 200;
    for (unsigned i = 0; i < records; ++i) {
      const std::uint64_t bytes = random() >> (random() % 42);
      builder.add_record(bytes);
      stream += bytes + 16;
      member += bytes + 16;
      if (is_compressed(encoding) && (random() % 10 == 0 || i + 1 == records)) {
        const std::uint64_t compressed = 1 + random() % 1000;
        builder.add_member(compressed, member);
        stored += compressed;
        member = 0;
      }
    }
    if (!is_compressed(encoding)) stored = stream;
    const ShardIndex index = *std::move(builder).finish(stored, random());
    const ShardIndex read = *ShardIndex::parse(index.serialize());
    EXPECT_EQ(read.serialize(), index.serialize());
    EXPECT_EQ(read.shard_crc32c(), index.shard_crc32c());
    EXPECT_EQ(read.stream_bytes(), stream);
    std::uint64_t next = 0;
    for (const ShardMember& part : read.members()) {
      EXPECT_EQ(part.first_record, next);
      EXPECT_TRUE(part.begins_with_record);
      next += part.record_count;
    }
    EXPECT_EQ(next, records);
  }
}

TEST(ShardIndex, ARecordMayLieAcrossMembersOfAForeignFile) {
  ShardIndexBuilder builder(ShardEncoding::kGzip);
  for (int i = 0; i < 3; ++i) builder.add_record(84);  // each 100 bytes framed
  for (const int bytes : {50, 30, 170, 50}) builder.add_member(20, static_cast<std::uint64_t>(bytes));
  const ShardIndex index = *std::move(builder).finish(90, 0);
  const std::vector<ShardMember>& members = index.members();
  EXPECT_TRUE(members[0].begins_with_record);
  EXPECT_EQ(members[0].record_count, 1U);
  EXPECT_FALSE(members[1].begins_with_record);
  EXPECT_EQ(members[1].record_count, 0U);
  EXPECT_EQ(members[2].first_record, 1U);
  EXPECT_EQ(members[2].record_count, 2U);
  EXPECT_FALSE(members[3].begins_with_record);
  EXPECT_EQ(members[3].record_count, 0U);
}

TEST(ShardIndex, AnUncompressedShardIsOneMemberAndAnEmptyOneNone) {
  ShardIndexBuilder builder(ShardEncoding::kPlain);
  builder.add_record(84);
  const ShardIndex index = *std::move(builder).finish(100, 1);
  ASSERT_EQ(index.members().size(), 1U);
  EXPECT_EQ(index.members()[0].compressed_bytes, 100U);
  EXPECT_EQ(index.members()[0].record_count, 1U);
  const ShardIndex empty = *ShardIndexBuilder(ShardEncoding::kPlain).finish(0, 0);
  EXPECT_EQ(ShardIndex::parse(empty.serialize())->members().size(), 0U);
}

TEST(ShardIndex, CostsOneOrTwoBytesARecord) {
  std::mt19937 random(4);
  ShardIndexBuilder builder(ShardEncoding::kPlain);
  std::uint64_t stream = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t bytes = 2000 + random() % 4000;
    builder.add_record(bytes);
    stream += bytes + 16;
  }
  EXPECT_LT(std::move(builder).finish(stream, 0)->serialize().size(), 20'100U);
}

TEST(ShardIndex, MembersAndRecordsThatDisagreeAreRefused) {
  const auto finish = [](ShardEncoding encoding, std::uint64_t member, std::uint64_t shard) {
    ShardIndexBuilder builder(encoding);
    builder.add_record(84);
    if (member > 0) builder.add_member(10, member);
    return std::move(builder).finish(shard, 0).has_value();
  };
  EXPECT_TRUE(finish(ShardEncoding::kGzip, 100, 10));
  EXPECT_TRUE(finish(ShardEncoding::kGzip, 100, 12)) << "padding may follow";
  EXPECT_FALSE(finish(ShardEncoding::kGzip, 99, 10));
  EXPECT_FALSE(finish(ShardEncoding::kGzip, 100, 9));
  EXPECT_FALSE(finish(ShardEncoding::kGzip, 0, 10));
  EXPECT_FALSE(finish(ShardEncoding::kPlain, 0, 99));
  EXPECT_FALSE(finish(ShardEncoding::kPlain, 100, 100));
}

TEST(ShardIndex, DamageAndNewerVersionsAreRefused) {
  const Bytes data = two_members().serialize();
  for (std::size_t size = 0; size < data.size(); ++size) {
    EXPECT_EQ(ShardIndex::parse(BytesView(data).first(size)).error().code, Code::kDataLoss) << size;
  }
  for (std::size_t at = 0; at < data.size(); ++at) {
    Bytes wrong = data;
    wrong[at] ^= std::byte{0x40};
    EXPECT_FALSE(ShardIndex::parse(wrong)) << at;
  }
  Bytes newer = data;
  newer[8] = std::byte{2};
  EXPECT_EQ(ShardIndex::parse(newer).error().code, Code::kUnimplemented);
  EXPECT_THAT(ShardIndex::parse(newer).error().message, HasSubstr("version 2"));
}

TEST(ShardIndex, LiesWithARightChecksumAreRefusedToo) {
  const Bytes data = two_members().serialize();
  const auto refused = [](Bytes wrong) {
    const Result<ShardIndex> index = ShardIndex::parse(sealed(std::move(wrong)));
    return !index && index.error().code == Code::kDataLoss;
  };
  for (const std::size_t at : {12U, 28U, 31U, 32U, 39U, 40U, 41U, 44U, 45U}) {
    Bytes wrong = data;
    wrong[at] = std::byte{0x7f};
    EXPECT_TRUE(refused(std::move(wrong))) << at;
  }
  Bytes longer = data;
  longer.insert(longer.begin() + 46, std::byte{0});
  EXPECT_TRUE(refused(std::move(longer)));
  // A negative size, and a size that would make the sum wrap around.
  for (const std::uint64_t step : {std::uint64_t{9}, ~std::uint64_t{0}, ~std::uint64_t{1}}) {
    Bytes wrong(data.begin(), data.begin() + 44);
    append_varint(wrong, 6);
    append_varint(wrong, step);
    wrong.resize(wrong.size() + 4);
    EXPECT_TRUE(refused(std::move(wrong))) << step;
  }
}

// The index of a shard whose records have these framed sizes, and whose members have these compressed and
// uncompressed sizes.
ShardIndex index_of(ShardEncoding encoding, const std::vector<std::uint64_t>& records,
                    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& members = {}) {
  ShardIndexBuilder builder(encoding);
  std::uint64_t shard_bytes = 0;
  for (const std::uint64_t framed : records) {
    builder.add_record(framed - 16);
    if (members.empty()) shard_bytes += framed;
  }
  for (const auto& [compressed, uncompressed] : members) {
    builder.add_member(compressed, uncompressed);
    shard_bytes += compressed;
  }
  return *std::move(builder).finish(shard_bytes, 0);
}

TEST(ShardIndex, BlocksOfAPlainShardEndWithTheRecordThatFillsThem) {
  using Blocks = std::vector<ShardBlock>;
  constexpr std::uint64_t kHalf = kBlockBytes / 2;
  const auto blocks = [](const std::vector<std::uint64_t>& records) {
    return index_of(ShardEncoding::kPlain, records).blocks();
  };
  EXPECT_EQ(blocks({}), Blocks());
  EXPECT_EQ(blocks({100}), (Blocks{{1, 100, 100}}));
  EXPECT_EQ(blocks({kHalf, kHalf, 100, 200}), (Blocks{{2, kBlockBytes, kBlockBytes}, {2, 300, 300}}));
  EXPECT_EQ(blocks({kHalf, kHalf - 1, 100}), (Blocks{{3, kBlockBytes + 99, kBlockBytes + 99}}));
  EXPECT_EQ(blocks({kBlockBytes, kBlockBytes}),
            (Blocks{{1, kBlockBytes, kBlockBytes}, {1, kBlockBytes, kBlockBytes}}));
}

TEST(ShardIndex, BlocksOfACompressedShardAreWholeMembers) {
  using Blocks = std::vector<ShardBlock>;
  constexpr std::uint64_t kHalf = kBlockBytes / 2;
  const std::vector<std::uint64_t> halves = {kHalf, kHalf, kHalf, kHalf, 100};
  EXPECT_EQ(
      index_of(ShardEncoding::kGzip, halves, {{10, kHalf}, {20, kHalf}, {30, kHalf}, {40, kHalf}, {50, 100}})
          .blocks(),
      (Blocks{{2, 30, kBlockBytes}, {2, 70, kBlockBytes}, {1, 50, 100}}));
  EXPECT_EQ(
      index_of(ShardEncoding::kGzip, {kHalf, kHalf - 1, 17}, {{1, kHalf}, {2, kHalf - 1}, {3, 17}}).blocks(),
      (Blocks{{3, 6, kBlockBytes + 16}}));
  // In this foreign file, the second member begins within a record, so the block extends to the third member.
  EXPECT_EQ(
      index_of(ShardEncoding::kGzip, {kBlockBytes + 100, 100, 100}, {{1, kBlockBytes}, {2, 200}, {4, 100}})
          .blocks(),
      (Blocks{{2, 3, kBlockBytes + 200}, {1, 4, 100}}));
  // Members without records do not form a block of their own.
  EXPECT_EQ(index_of(ShardEncoding::kGzip, {}, {{20, 0}}).blocks(), Blocks());
}

TEST(ShardIndex, AMemberMayHoldNothing) {
  const ShardIndex empty = *ShardIndex::parse(index_of(ShardEncoding::kGzip, {}, {{20, 0}}).serialize());
  ASSERT_EQ(empty.members().size(), 1U);
  EXPECT_EQ(empty.members()[0].compressed_bytes, 20U);
  EXPECT_EQ(empty.members()[0].record_count, 0U);
}

TEST(ShardIndex, SizesUpTo2To62AreRead) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  const auto parsed = [](const ShardIndex& index) { return ShardIndex::parse(index.serialize()); };
  EXPECT_TRUE(parsed(index_of(ShardEncoding::kGzip, {19}, {{kMost, 19}})));
  const auto member = parsed(index_of(ShardEncoding::kGzip, {19}, {{kMost + 1, 19}}));
  ASSERT_FALSE(member);
  EXPECT_EQ(member.error().code, Code::kDataLoss);
  EXPECT_EQ(member.error().message, "shard index: malformed member");
  EXPECT_TRUE(parsed(index_of(ShardEncoding::kPlain, {kMost})));
  for (const auto& records : {std::vector{kMost + 1}, std::vector{kMost, std::uint64_t{16}}}) {
    const auto record = parsed(index_of(ShardEncoding::kPlain, records));
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().message, "shard index: impossible record size");
  }
}

TEST(ShardIndex, AnErrorSaysWhatIsWrong) {
  const auto message = [](const Bytes& data) {
    const auto parsed = ShardIndex::parse(data);
    return parsed ? "it was parsed" : parsed.error().message;
  };
  const Bytes data = two_members().serialize();
  EXPECT_EQ(message({data.begin(), data.begin() + 43}), "shard index: cut short");
  EXPECT_EQ(message({data.begin(), data.begin() + 44}), "shard index: wrong checksum");
  const auto with = [&](std::size_t at, int value) {
    Bytes wrong = data;
    wrong[at] = static_cast<std::byte>(value);
    return message(sealed(wrong));
  };
  EXPECT_EQ(with(0, 'h'), "shard index: does not begin with its magic bytes");
  EXPECT_EQ(with(28, 4), "shard index: more members than bytes");
  EXPECT_EQ(with(28, 3), "shard index: more records than bytes") << "all bytes are taken for members";
  EXPECT_EQ(with(32, 3), "shard index: more records than bytes");
  EXPECT_EQ(with(32, 1), "shard index: bytes after the last record");
  EXPECT_EQ(with(45, 0x84), "shard index: malformed record size");
  EXPECT_EQ(with(16, 83),
            "shard index: 2 members of 84 bytes, 40 uncompressed, do not make up a shard of 83 bytes with 40 "
            "bytes of records");
  Bytes plain = index_of(ShardEncoding::kPlain, {19}).serialize();
  plain[12] = std::byte{4};
  EXPECT_EQ(message(sealed(plain)), "shard index: unknown encoding");
  ShardIndexBuilder builder(ShardEncoding::kPlain);
  builder.add_record(3);
  const auto unfinished = std::move(builder).finish(18, 0);
  ASSERT_FALSE(unfinished);
  EXPECT_EQ(unfinished.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace

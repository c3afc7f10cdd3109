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

// With the checksum made right again.
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
  // A negative size, and one that would wrap the sum.
  for (const std::uint64_t step : {std::uint64_t{9}, ~std::uint64_t{0}, ~std::uint64_t{1}}) {
    Bytes wrong(data.begin(), data.begin() + 44);
    append_varint(wrong, 6);
    append_varint(wrong, step);
    wrong.resize(wrong.size() + 4);
    EXPECT_TRUE(refused(std::move(wrong))) << step;
  }
}

TEST(ShardIndex, BlocksEndWhereTheyAreLargeEnoughAndARecordBegins) {
  ShardIndexBuilder plain(ShardEncoding::kPlain);
  const std::uint64_t half = kBlockBytes / 2;  // of a block; two such records are just one
  for (const std::uint64_t bytes :
       {half - 16, half - 16, half - 17, half - 16, kBlockBytes, std::uint64_t{4}})
    plain.add_record(bytes);
  const std::uint64_t third = 2 * half - 1 + kBlockBytes + 16, total = kBlockBytes + third + 20;
  EXPECT_EQ(std::move(plain).finish(total, 0)->blocks(),
            (std::vector<ShardBlock>{{2, kBlockBytes, kBlockBytes}, {3, third, third}, {1, 20, 20}}));

  ShardIndexBuilder compressed(ShardEncoding::kGzip);
  for (const std::uint64_t bytes : {kBlockBytes - 16, kBlockBytes - 8, std::uint64_t{4}, std::uint64_t{5}})
    compressed.add_record(bytes);
  compressed.add_member(10, kBlockBytes);  // the first record
  compressed.add_member(20, kBlockBytes);  // the second without its end
  compressed.add_member(30, 8 + 20);       // its end, and the third
  compressed.add_member(40, 21);
  EXPECT_EQ(std::move(compressed).finish(100, 0)->blocks(),
            (std::vector<ShardBlock>{{1, 10, kBlockBytes}, {2, 50, kBlockBytes + 28}, {1, 40, 21}}));

  EXPECT_TRUE(ShardIndexBuilder(ShardEncoding::kPlain).finish(0, 0)->blocks().empty());
  EXPECT_TRUE(ShardIndexBuilder(ShardEncoding::kGzip).finish(0, 0)->blocks().empty());
}

}  // namespace
}  // namespace headrace

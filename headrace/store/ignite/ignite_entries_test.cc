#include "headrace/store/ignite/ignite_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/digest.h"
#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/message.h"

namespace headrace {
namespace {

IgniteHead hello() {
  return {.upload = {0x0102030405060708, 0x0a0b0c0d},
          .crc32c = 0x9a71bb4c,
          .size_bytes = 5,
          .modified_ms = 1'000'000'000'000,
          .content = as_bytes("hello")};
}

IgniteNote note() {
  return {.attempts = 2,
          .chunks = 64,
          .upload = {1, 2},
          .replaced = {3, 4},
          .replaced_chunks = 5,
          .chunk_bytes = kIgniteChunkBytes,
          .modified_ms = 1'700'000'000'123,
          .key = "folder/é"};
}

TEST(IgniteEntries, AHeadIsEncodedAsDocumented) {
  const Bytes entry = encode_head(hello());
  EXPECT_EQ(hex(*ignite::byte_array_content(entry)),
            "485269680101000000000000000000000807060504030201"
            "0d0c0b0a4cbb719a"
            "05000000000000000010a5d4e800000068656c6c6fa491a737");
  const Result<IgniteHead> head = decode_head(entry);
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(as_text(head->content), "hello");
  const ObjectInfo info = head->info("a");
  EXPECT_EQ(info.version.token, "01020304050607080a0b0c0d");
  EXPECT_EQ(info.size_bytes, 5U);
  EXPECT_EQ(info.crc32c, 0x9a71bb4cU);
  EXPECT_EQ(format_time(*info.modified), "2001-09-09T01:46:40Z");
}

TEST(IgniteEntries, ANoteComesBack) {
  const Result<IgniteNote> read = decode_note(encode_note(note()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(encode_note(*read), encode_note(note()));
  EXPECT_EQ(read->key, "folder/é");
  EXPECT_EQ(read->replaced, (UploadId{3, 4}));
}

TEST(IgniteEntries, ChunksHaveKeysOfTheirOwnAndAreCounted) {
  const UploadId upload{0x0102030405060708, 0x0a0b0c0d};
  EXPECT_EQ(hex(upload.chunk_key(0x11223344)), "0a0807060504030201443322110d0c0b0a");
  EXPECT_NE(upload.chunk_key(0), upload.chunk_key(1));
  EXPECT_EQ(UploadId::parse(upload.text()), upload);
  EXPECT_FALSE(UploadId::parse("01020304050607080a0b0c0"));
  EXPECT_FALSE(UploadId::parse("01020304050607080a0b0c0X"));
  EXPECT_NE(UploadId::make(), UploadId::make());
  for (const auto& [size, chunks] : {std::pair(0, 0), {1, 1}, {1 << 20, 1}, {(1 << 20) + 1, 2}})
    EXPECT_EQ((IgniteHead{.chunk_bytes = 1 << 20, .size_bytes = static_cast<std::uint64_t>(size)}).chunks(),
              static_cast<std::uint32_t>(chunks));
}

TEST(IgniteEntries, ADamagedEntryIsRefusedWhereverTheDamageIs) {
  for (const Bytes& entry : {encode_head(hello()), encode_note(note())}) {
    for (std::size_t i = 0; i < entry.size(); ++i) {
      Bytes damaged = entry;
      damaged[i] ^= std::byte{0x10};
      EXPECT_FALSE(decode_head(damaged)) << i;
      EXPECT_FALSE(decode_note(damaged)) << i;
    }
    for (std::size_t size = 0; size < entry.size(); ++size) {
      const BytesView cut = BytesView(entry).first(size);
      EXPECT_FALSE(decode_head(cut)) << size;
      EXPECT_FALSE(decode_note(cut)) << size;
      const Bytes shorter = ignite::encode_bytes(cut);
      EXPECT_FALSE(decode_head(shorter)) << size;
      EXPECT_FALSE(decode_note(shorter)) << size;
    }
  }
}

TEST(IgniteEntries, TheErrorSaysWhetherItIsNewerOrAnothers) {
  Bytes newer = encode_head(hello());
  newer[5 + 4] = std::byte{2};
  EXPECT_EQ(decode_head(newer).error().code, Code::kUnimplemented);
  EXPECT_THAT(decode_head(newer).error().message, testing::HasSubstr("newer Headrace"));
  EXPECT_THAT(decode_head(ignite::encode_bytes(as_bytes("{\"a\": 1}"))).error().message,
              testing::HasSubstr("another program wrote it"));
  EXPECT_EQ(decode_head(ignite::encode_long(1)).error().code, Code::kDataLoss);
}

TEST(IgniteEntries, HeadsThatContradictThemselvesAreRefused) {
  IgniteHead head = hello();
  head.size_bytes = 6;
  EXPECT_FALSE(decode_head(encode_head(head)));
  head = hello();
  head.chunk_bytes = 8'192;
  EXPECT_FALSE(decode_head(encode_head(head))) << "content beside chunks";
  head.content = {};
  EXPECT_TRUE(decode_head(encode_head(head)));
  head.size_bytes = ~std::uint64_t{0};
  EXPECT_FALSE(decode_head(encode_head(head))) << "more chunks than can be counted";
  head = {.chunk_bytes = 1, .size_bytes = 5};
  EXPECT_FALSE(decode_head(encode_head(head))) << "chunks smaller than any that are written";
}

TEST(IgniteEntries, AChunkIsCheckedAgainstItsSizeAndChecksum) {
  Bytes entry = chunk_prefix(5);
  append(entry, as_bytes("hello"));
  append_little_endian(entry, std::uint32_t{0x9a71bb4c});
  EXPECT_EQ(entry.size(), 5 + kIgniteChunkOverhead);
  EXPECT_EQ(as_text(*chunk_content(entry, 5)), "hello");
  EXPECT_FALSE(chunk_content(entry, 4));
  entry[6] ^= std::byte{1};
  EXPECT_EQ(chunk_content(entry, 5).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace headrace

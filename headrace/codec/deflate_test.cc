#include "headrace/codec/deflate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

#include "headrace/base/crc32c.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// Text-like bytes: runs over a small alphabet, which compress well, but not to nothing.
Bytes sample(std::size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  Bytes out;
  while (out.size() < size) {
    const std::byte letter = static_cast<std::byte>('a' + random() % 20);
    out.insert(out.end(), 1 + random() % 5, letter);
  }
  out.resize(size);
  return out;
}

Bytes zlib_compress(BytesView data) {
  uLongf size = compressBound(data.size());
  Bytes out(size);
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
            data.size(), 6);
  out.resize(size);
  return out;
}

Bytes gzip(BytesView data, int level = 6) { return *gzip_compress(data, level); }

Bytes random_floats(std::size_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> between(-0.1F, 0.1F);
  Bytes out;
  for (std::size_t i = 0; i < count; ++i) {
    const float number = between(random);
    append(out, std::as_bytes(std::span(&number, 1)));
  }
  return out;
}

Bytes joined(std::initializer_list<Bytes> pieces) {
  std::string out;
  for (const Bytes& piece : pieces) out += as_text(piece);
  return to_bytes(out);
}

// The whole output if the input arrives in pieces of `input_step` bytes and the output is taken in pieces of
// `output_step` bytes.
Result<Bytes> stream(BytesView compressed, Compression compression, std::size_t input_step,
                     std::size_t output_step, std::uint64_t limit_bytes = ~std::uint64_t{0}) {
  Inflater inflater(compression, limit_bytes);
  Bytes out, piece(output_step);
  std::size_t available = std::min(input_step, compressed.size());
  while (true) {
    HEADRACE_TRY(const InflateStep step, inflater.step(compressed.first(available), piece));
    append(out, BytesView(piece).first(step.produced_bytes));
    compressed = compressed.subspan(step.consumed_bytes);
    available -= step.consumed_bytes;
    if (step.produced_bytes == piece.size()) continue;
    EXPECT_EQ(available, 0U);
    available = std::min(input_step, compressed.size());
    if (available == 0) break;
  }
  HEADRACE_CHECK(inflater.finish());
  return out;
}

TEST(Deflate, StoresWhatWouldHardlyShrinkAndOtherReadersTakeIt) {
  const Bytes floats = random_floats(50'000);
  const Bytes member = gzip(floats);
  EXPECT_EQ(as_text(member).find(as_text(floats).substr(0, 60'000)), 15U);  // header, head of a stored block
  EXPECT_LT(member.size(), floats.size() + 100);
  EXPECT_EQ(*stream(member, Compression::kGzip, 1000, 1000), floats);  // zlib
  EXPECT_LT(gzip(sample(200'000)).size(), 100'000U);
}

TEST(Deflate, EveryLevelGivesBackWhatWasPutIn) {
  const Bytes data = sample(100'000);
  for (int level = kMinDeflateLevel; level <= kMaxDeflateLevel; ++level) {
    Bytes out;
    ASSERT_TRUE(BufferInflater().all(gzip(data, level), Compression::kGzip, out, data.size())) << level;
    EXPECT_EQ(out, data) << level;
  }
  EXPECT_EQ(gzip_compress(data, 0).error().code, Code::kInvalidArgument);
  EXPECT_EQ(gzip_compress(data, 13).error().code, Code::kInvalidArgument);
}

TEST(Deflate, EqualDataGiveEqualBytesWithoutATime) {
  GzipCompressor first = *GzipCompressor::create(6);
  Bytes a, b;
  first.append_member(sample(5000, 2), a);
  a.clear();
  const std::uint64_t size = first.append_member(sample(5000), a);
  EXPECT_EQ(size, a.size());
  EXPECT_EQ(a, gzip(sample(5000)));
  EXPECT_EQ(load_little_endian<std::uint32_t>(a.data() + 4), 0U);
  EXPECT_THAT(deflate_fingerprint(), HasSubstr("libdeflate 1."));
}

TEST(Deflate, AMemberIsReadByItselfWhereItsSizeIsKnown) {
  const Bytes first = sample(5000, 1), second = sample(7000, 2);
  const Bytes file = joined({gzip(first), gzip(second)});
  BufferInflater inflater;
  Bytes out(5000);
  const InflatedMember member = *inflater.member(file, Compression::kGzip, out);
  EXPECT_EQ(out, first);
  EXPECT_EQ(member.uncompressed_bytes, 5000U);
  out.resize(7000);
  ASSERT_TRUE(inflater.member(BytesView(file).subspan(member.compressed_bytes), Compression::kGzip, out));
  EXPECT_EQ(out, second);
  out.resize(6999);
  EXPECT_EQ(
      inflater.member(BytesView(file).subspan(member.compressed_bytes), Compression::kGzip, out).error().code,
      Code::kResourceExhausted);
}

TEST(Deflate, BothDecompressorsReadAllMembersAndPadding) {
  const Bytes first = sample(300'000, 1), second = sample(70'000, 2);
  const Bytes expected = joined({first, second});
  const Bytes padding(100, std::byte{0});
  for (const Bytes& file :
       {joined({gzip(first), gzip(second)}), joined({gzip(first), gzip({}), gzip(second), padding}),
        joined({gzip(first), padding, gzip(second)})}) {
    Bytes out = to_bytes("before");
    ASSERT_TRUE(BufferInflater().all(file, Compression::kGzip, out, 370'000));
    EXPECT_EQ(out, joined({to_bytes("before"), expected}));
    for (const std::size_t input_step : {1UL, 1000UL, file.size()}) {
      EXPECT_EQ(*stream(file, Compression::kGzip, input_step, 4096), expected) << input_step;
    }
  }
  const Bytes zlib_file = joined({zlib_compress(first), zlib_compress(second)});
  Bytes out;
  ASSERT_TRUE(BufferInflater().all(zlib_file, Compression::kZlib, out, 370'000));
  EXPECT_EQ(out, expected);
  EXPECT_EQ(*stream(zlib_file, Compression::kZlib, 777, 1'000'000), expected);
  EXPECT_EQ(*stream(expected, Compression::kNone, 777, 1000), expected);
}

TEST(Deflate, ALengthThatTheInputStatesIsNotBelieved) {
  const Bytes data = sample(200'000);
  for (const std::uint32_t stated : {0U, 1U, 199'999U, 0xffffffffU}) {
    Bytes file = gzip(data);
    store_little_endian(file.data() + file.size() - 4, stated);
    Bytes out;
    EXPECT_EQ(BufferInflater().all(file, Compression::kGzip, out, 1 << 20).error().code, Code::kDataLoss)
        << stated;
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(stream(file, Compression::kGzip, file.size(), 4096).error().code, Code::kDataLoss) << stated;
  }
}

TEST(Deflate, ABombEndsAtTheLimit) {
  const Bytes file = gzip(Bytes(50 << 20, std::byte{0}));
  EXPECT_LT(file.size(), 60'000U);
  Bytes out;
  EXPECT_EQ(BufferInflater().all(file, Compression::kGzip, out, 1 << 20).error().code,
            Code::kResourceExhausted);
  EXPECT_LE(out.capacity(), 2U << 20);
  EXPECT_EQ(stream(file, Compression::kGzip, file.size(), 4096, 1 << 20).error().code,
            Code::kResourceExhausted);
  EXPECT_EQ(stream(file, Compression::kGzip, file.size(), 1 << 16)->size(), 50U << 20);
}

TEST(Deflate, EveryTruncationAndFlippedByteIsNoticed) {
  const Bytes data = sample(2000);
  const Bytes file = gzip(data);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const BytesView cut = BytesView(file).first(size);
    Bytes out;
    EXPECT_EQ(BufferInflater().all(cut, Compression::kGzip, out, 1 << 20).error().code, Code::kDataLoss)
        << size;
    EXPECT_FALSE(stream(cut, Compression::kGzip, 100, 100)) << size;
  }
  // The first ten bytes hold flags and a time. Some later bits choose between equal matches.
  int noticed = 0;
  for (std::size_t at = 10; at < file.size(); ++at) {
    Bytes wrong = file;
    wrong[at] ^= std::byte{0x10};
    Bytes out;
    const Status whole = BufferInflater().all(wrong, Compression::kGzip, out, 1 << 20);
    const Result<Bytes> streamed = stream(wrong, Compression::kGzip, 100, 100);
    ASSERT_EQ(whole.has_value(), streamed.has_value()) << at;
    if (streamed) {
      EXPECT_TRUE(out == data && *streamed == data) << at;
    }
    noticed += whole ? 0 : 1;
  }
  EXPECT_GT(noticed, static_cast<int>(file.size()) * 9 / 10);
  Bytes out;
  EXPECT_FALSE(BufferInflater().all(joined({file, to_bytes("junk")}), Compression::kGzip, out, 1 << 20));
  EXPECT_FALSE(stream(joined({file, to_bytes("junk")}), Compression::kGzip, 100, 100));
}

TEST(Deflate, WrappingsAreToldApart) {
  const auto plain_header = [](std::uint64_t length) {
    Bytes out(12);
    store_little_endian(out.data(), length);
    store_little_endian(out.data() + 8, masked_crc32c(crc32c({out.data(), 8})));
    return out;
  };
  EXPECT_EQ(sniff_compression({}), Compression::kNone);
  EXPECT_EQ(sniff_compression(gzip(sample(100))), Compression::kGzip);
  EXPECT_EQ(sniff_compression(zlib_compress(sample(100))), Compression::kZlib);
  // As a length, 0x0178 = 376 bytes look like the two bytes of a zlib header, and 0x…088b1f like gzip.
  EXPECT_EQ(sniff_compression(plain_header(0x0178)), Compression::kNone);
  EXPECT_EQ(sniff_compression(plain_header(0x088b1f)), Compression::kNone);
  EXPECT_EQ(sniff_compression(BytesView(plain_header(0x0178)).first(11)), Compression::kZlib);
  EXPECT_EQ(sniff_compression(as_bytes("an archive of something")), Compression::kNone);
}

}  // namespace
}  // namespace headrace

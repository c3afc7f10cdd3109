#include "headrace/base/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "headrace/base/crc32c_methods.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxSize = 4200;  // past every block size of every method, and their sums

Bytes random_bytes(std::size_t size) {
  std::mt19937 random(1);
  Bytes out(size);
  for (auto& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

std::uint32_t bit_by_bit(BytesView data) {
  std::uint32_t crc = ~0U;
  for (const std::byte byte : data) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCrc32cPolynomial : 0);
  }
  return ~crc;
}

// The methods that this processor supports.
std::vector<ExtendCrc32c> methods() {
  std::vector<ExtendCrc32c> out;
  for (const auto method : {Crc32cMethod::kTable, Crc32cMethod::kThreeStreams, Crc32cMethod::kFolding}) {
    if (is_supported(method)) out.push_back(extend_crc32c(method));
  }
  return out;
}

TEST(Crc32c, AgreesWithTheVectorsOfRfc3720) {
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0x00})), 0x8a9136aaU);
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0xff})), 0x62a8ab43U);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, AgreesWithTheDefinition) {
  const Bytes data = random_bytes(20'000);
  for (const std::size_t size : {1, 7, 8, 9, 63, 64, 255, 768, 4096, 12'287, 12'288, 19'990}) {
    for (const std::size_t offset : {0, 1, 3, 8}) {
      const BytesView part = BytesView(data).subspan(offset, size);
      EXPECT_EQ(crc32c(part), bit_by_bit(part)) << size << " bytes at " << offset;
    }
  }
}

TEST(Crc32c, EveryMethodAgreesWithTheTableAtEverySizeAndAlignment) {
  const Bytes data = random_bytes(kMaxSize + 64);
  const ExtendCrc32c by_table = extend_crc32c(Crc32cMethod::kTable);
  for (const ExtendCrc32c extend : methods()) {
    for (const std::size_t offset : {0, 1, 2, 3, 5, 8, 17, 33, 63}) {
      std::uint32_t expected = ~0U;  // byte by byte
      for (std::size_t size = 0; size <= kMaxSize; ++size) {
        ASSERT_EQ(extend(~0U, data.data() + offset, size), expected) << size << " bytes at " << offset;
        expected = by_table(expected, data.data() + offset + size, 1);
      }
    }
  }
}

TEST(Crc32c, EveryMethodContinuesFromAnyStateOfAnyOther) {
  const Bytes data = random_bytes(3 * kMaxSize);
  const std::uint32_t whole = extend_crc32c(Crc32cMethod::kTable)(~0U, data.data(), data.size());
  const std::vector<ExtendCrc32c> all = methods();
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::uint32_t state = ~0U;
    for (std::size_t at = 0; at < data.size();) {
      const std::size_t piece = std::min<std::size_t>(random() % (1U << (random() % 14)), data.size() - at);
      state = all[random() % all.size()](state, data.data() + at, piece);
      at += piece;
    }
    ASSERT_EQ(state, whole);
  }
}

TEST(Crc32c, EveryMethodAgreesOnLargeBuffers) {
  const Bytes data = random_bytes((1 << 20) + 13);
  const std::uint32_t expected = extend_crc32c(Crc32cMethod::kTable)(7, data.data(), data.size());
  for (const ExtendCrc32c extend : methods()) EXPECT_EQ(extend(7, data.data(), data.size()), expected);
}

TEST(Crc32c, Continues) {
  const Bytes data = random_bytes(5000);
  const std::uint32_t whole = crc32c(data);
  for (const std::size_t cut : {0, 1, 8, 777, 4999, 5000}) {
    const BytesView head = BytesView(data).first(cut), tail = BytesView(data).subspan(cut);
    EXPECT_EQ(crc32c(tail, crc32c(head)), whole);
  }
}

TEST(Crc32c, OfTwoPiecesComesFromThatOfEach) {
  const Bytes data = random_bytes(kMaxSize);
  const BytesView all = data;
  for (const std::size_t at : {0, 1, 7, 8, 255, 256, 4096, 4199, 4200}) {
    const BytesView first = all.first(at), second = all.subspan(at);
    EXPECT_EQ(combined_crc32c(crc32c(first), crc32c(second), second.size()), crc32c(all)) << at;
  }
  std::uint32_t zeros = crc32c(Bytes(1, std::byte{0}));  // of 2^34 zero bytes, by doubling
  for (int i = 0; i < 34; ++i) zeros = combined_crc32c(zeros, zeros, std::uint64_t{1} << i);
  std::uint32_t step_by_step = 0;
  const Bytes mebi(1 << 20, std::byte{0});
  const std::uint32_t of_mebi = crc32c(mebi);
  for (int i = 0; i < (1 << 14); ++i) step_by_step = combined_crc32c(step_by_step, of_mebi, 1 << 20);
  EXPECT_EQ(zeros, step_by_step);
}

}  // namespace
}  // namespace headrace

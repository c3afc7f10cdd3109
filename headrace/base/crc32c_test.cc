#include "headrace/base/crc32c.h"

#include <random>

namespace headrace {
namespace {

std::uint32_t bit_by_bit(BytesView data) {
  std::uint32_t crc = ~0U;
  for (const std::byte byte : data) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0);
  }
  return ~crc;
}

TEST(Crc32c, AgreesWithTheVectorsOfRfc3720) {
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0x00})), 0x8a9136aaU);
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0xff})), 0x62a8ab43U);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, AgreesWithTheDefinitionAtEveryLengthAndAlignment) {
  std::mt19937 random(1);
  Bytes data(20000);
  for (auto& byte : data) byte = static_cast<std::byte>(random());
  for (std::size_t size : {1, 7, 8, 9, 255, 767, 768, 769, 4096, 12287, 12288, 12289, 19990}) {
    for (std::size_t offset : {0, 1, 3, 8}) {
      const BytesView part = BytesView(data).subspan(offset, size);
      EXPECT_EQ(crc32c(part), bit_by_bit(part)) << size << " bytes at " << offset;
    }
  }
}

TEST(Crc32c, Continues) {
  std::mt19937 random(2);
  Bytes data(5000);
  for (auto& byte : data) byte = static_cast<std::byte>(random());
  const std::uint32_t whole = crc32c(data);
  for (std::size_t cut : {0, 1, 8, 777, 4999, 5000}) {
    const BytesView head = BytesView(data).first(cut), tail = BytesView(data).subspan(cut);
    EXPECT_EQ(crc32c(tail, crc32c(head)), whole);
  }
}

}  // namespace
}  // namespace headrace

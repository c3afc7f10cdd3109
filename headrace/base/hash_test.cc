#include "headrace/base/hash.h"

#include <gtest/gtest.h>

#include <array>

namespace headrace {
namespace {

// Key 00 01 … 0f, input 00 01 … (n-1): the reference vectors published with SipHash.
constexpr HashKey kReferenceKey{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};

TEST(SipHash, AgreesWithTheReferenceVectors) {
  Bytes input;
  for (int i = 0; i < 15; ++i) input.push_back(static_cast<std::byte>(i));
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input).first(0)), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input).first(1)), 0x74f839c593dc67fdU);
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input).first(2)), 0x0d6c8009d9a94f5aU);
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input).first(3)), 0x85676696d7fb7e2dU);
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input).first(4)), 0xcf2794e0277187b7U);
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input).first(5)), 0x18765564cd99a68dU);
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input).first(6)), 0xcbc9466e58fee3ceU);
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input).first(7)), 0xab0200f58b01d137U);
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input).first(8)), 0x93f5f5799a932462U);
  EXPECT_EQ(siphash(kReferenceKey, BytesView(input)), 0xa129ca6149be45e5U);
}

TEST(SipHash, OfAnIntegerIsThatOfItsBytes) {
  Bytes bytes;
  append_little_endian<std::uint64_t>(bytes, 0x1122334455667788U);
  EXPECT_EQ(siphash(kReferenceKey, std::uint64_t{0x1122334455667788U}),
            siphash(kReferenceKey, BytesView(bytes)));
}

TEST(SipHash, OfPaddedBytesIsThatOfTheBytes) {
  Bytes input(40);
  for (std::size_t size = 0; size <= 32; ++size) {
    EXPECT_EQ(siphash_padded(kReferenceKey, BytesView(input).first(size)),
              siphash(kReferenceKey, BytesView(input).first(size)));
    input[size] = static_cast<std::byte>(0x81 + size);
  }
}

}  // namespace
}  // namespace headrace

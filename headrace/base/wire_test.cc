#include "headrace/base/wire.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace headrace {
namespace {

Bytes from_hex(std::string_view digits) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

TEST(Wire, WritesTheBytesOfTheSpecification) {
  Bytes out;
  WireWriter writer(out);
  writer.varint(1, 150);
  writer.text(2, "testing");
  writer.message(3, [](WireWriter& nested) { nested.varint(1, 150); });
  EXPECT_EQ(out, from_hex("089601"
                          "120774657374696e67"
                          "1a03089601"));
}

TEST(Wire, ReadsBackWhatItWrote) {
  Bytes out;
  WireWriter writer(out);
  writer.varint(1, static_cast<std::uint64_t>(-3));
  writer.fixed64(2, -0.1);
  writer.fixed32(536870911, 2.5F);
  writer.text(4, "");
  WireReader reader(out);
  WireField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.as_int64(), -3);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.as_double(), -0.1);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 536870911U);
  EXPECT_EQ(field.as_float(), 2.5F);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.as_text(), "");
  EXPECT_FALSE(reader.next(field));
  EXPECT_FALSE(reader.malformed());
}

TEST(Wire, EveryWidthOfVarintSurvives) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t value : {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1}) {
      Bytes out;
      append_varint(out, value);
      EXPECT_EQ(out.size(), varint_size(value)) << value;
      std::size_t position = 0;
      std::uint64_t read = 0;
      ASSERT_TRUE(read_varint(out, position, read));
      EXPECT_EQ(read, value);
      EXPECT_EQ(position, out.size());
      out.pop_back();
      position = 0;
      EXPECT_FALSE(read_varint(out, position, read));
      EXPECT_EQ(position, 0U);
    }
  }
}

TEST(Wire, ZigzagIsReversible) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{-77},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  }
  EXPECT_EQ(zigzag(-1), 1U);
  EXPECT_EQ(zigzag(1), 2U);
}

TEST(Wire, StepsOverGroupsAndRejectsUnbalancedOnes) {
  WireField field;
  const Bytes sound = from_hex(
      "0b"
      "1005"
      "1b1c"
      "0c"
      "2007");  // group 1 { field 2, group 3 {} }, field 4 = 7
  WireReader reader(sound);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 4U);
  EXPECT_EQ(field.value, 7U);
  for (const char* wrong : {"0b", "0c", "0b14", "0b1b0c1c"}) {
    const Bytes bytes = from_hex(wrong);
    WireReader broken(bytes);
    EXPECT_FALSE(broken.next(field)) << wrong;
    EXPECT_TRUE(broken.malformed()) << wrong;
  }
  const Bytes deep(1000, std::byte{0x0b});
  WireReader nested(deep);
  EXPECT_FALSE(nested.next(field));
  EXPECT_TRUE(nested.malformed());
}

TEST(Wire, StopsAtWhatIsMalformedAndSaysWhere) {
  WireField field;
  // A length beyond the end, a truncated fixed64 and fixed32, an endless varint, field number 0, type 6.
  for (const char* wrong :
       {"0a05616263", "0a", "0900", "0d000000", "08ffffffffffffffffffff01", "0001", "0e"}) {
    const Bytes bytes = from_hex(std::string("0801") + wrong);
    WireReader reader(bytes);
    ASSERT_TRUE(reader.next(field)) << wrong;
    EXPECT_FALSE(reader.next(field)) << wrong;
    EXPECT_TRUE(reader.malformed()) << wrong;
    EXPECT_EQ(reader.position(), 2U) << wrong;
    EXPECT_FALSE(reader.next(field)) << wrong;
  }
}

TEST(Wire, LengthsOfAnyWidthLeadToTheNextField) {
  for (const std::size_t size : {0, 1, 127, 128, 16'383, 16'384, 70'000}) {
    Bytes out;
    WireWriter writer(out);
    writer.bytes(2, Bytes(size, std::byte{7}));
    writer.varint(3, 5);
    WireReader reader(out);
    WireField field;
    ASSERT_TRUE(reader.next(field));
    EXPECT_EQ(field.bytes.size(), size);
    ASSERT_TRUE(reader.next(field));
    EXPECT_EQ(field.value, 5U) << size;
    EXPECT_FALSE(reader.next(field));
    EXPECT_FALSE(reader.malformed());
    WireReader cut(BytesView(out).first(out.size() - 3));
    EXPECT_FALSE(cut.next(field)) << size;
    EXPECT_TRUE(cut.malformed());
  }
}

TEST(Wire, ALengthMayHaveMoreBytesThanItNeeds) {
  const Bytes bytes = from_hex("128100ff1803");
  WireReader reader(bytes);
  WireField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.bytes.size(), 1U);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.value, 3U);
}

TEST(Wire, RandomBytesAreWalkedToAnEnd) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes(random() % 40);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    WireReader reader(bytes);
    std::size_t before = 0;
    for (WireField field; reader.next(field); before = reader.position())
      ASSERT_GT(reader.position(), before);
    ASSERT_EQ(reader.malformed(), reader.position() != bytes.size());
  }
}

TEST(Wire, NestedMessagesOfAnySizeAreWrittenInPlace) {
  for (const std::size_t size : {0, 1, 126, 127, 128, 129, 16'000, 16'383, 16'384, 3'000'000}) {
    const std::string content(size, 'x');
    Bytes out;
    WireWriter(out).message(1, [&](WireWriter& outer) {
      outer.message(2, [&](WireWriter& inner) { inner.text(3, content); });
      outer.varint(4, 5);
    });
    WireReader reader(out);
    WireField field;
    ASSERT_TRUE(reader.next(field));
    WireReader outer(field.bytes);
    ASSERT_TRUE(outer.next(field));
    WireReader inner(field.bytes);
    ASSERT_TRUE(outer.next(field));
    EXPECT_EQ(field.value, 5U);
    ASSERT_TRUE(inner.next(field));
    EXPECT_EQ(field.as_text(), content);
  }
}

}  // namespace
}  // namespace headrace

#include "headrace/net/ignite/object_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/net/ignite/object_bytes_test.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/random_value_test.h"
#include "headrace/net/ignite/value_text.h"

namespace headrace::ignite {
namespace {

using testing::HasSubstr;

/// A type of the two fields a and b, in the order b, a.
BinaryType pair_type() {
  BinaryType type{.id = 5, .name = "Pair"};
  type.fields = {{"a", 3, 97}, {"b", 9, 98}};
  type.schemas = {{.id = 7, .fields = {1, 0}}};
  return type;
}

std::string json_of(const Bytes& bytes) {
  BinaryTypes types(types_of({{5, pair_type()}}));
  const Result<Value> value = decode_object(bytes, types);
  return value ? to_json(*value)->dump() : value.error().message;
}

// b = true, a = byte 1.
constexpr const char* kCompactPair =
    "67 01 2b00 05000000 00000000 1e000000 07000000 1c000000 0801 0101 18 1a";

TEST(ObjectDecoder, ReadsFieldsInTheOrderOfTheSchema) {
  EXPECT_EQ(json_of(bytes_of_hex(kCompactPair)), R"({"a":1,"b":true})");
}

TEST(ObjectDecoder, ReadsFootersWithIdsAndOffsetsOfEachWidth) {
  EXPECT_EQ(json_of(bytes_of_hex("67 01 0b00 05000000 00000000 26000000 07000000 1c000000 0801 0101"
                                 "62000000 18 61000000 1a")),
            R"({"a":1,"b":true})");
  EXPECT_EQ(
      json_of(bytes_of_hex("67 01 3300 05000000 00000000 20000000 07000000 1c000000 0801 0101 1800 1a00")),
      R"({"a":1,"b":true})");
  EXPECT_EQ(json_of(bytes_of_hex("67 01 2300 05000000 00000000 24000000 07000000 1c000000 0801 0101"
                                 "18000000 1a000000")),
            R"({"a":1,"b":true})");
}

TEST(ObjectDecoder, NamesFieldsByIdWhereTheClusterDoesNotKnowTheType) {
  EXPECT_EQ(json_of(bytes_of_hex("67 01 0b00 06000000 00000000 1f000000 07000000 1a000000 0801 62000000 18")),
            R"({"#98":true})");
}

TEST(ObjectDecoder, KeepsRawDataAsBytes) {
  EXPECT_EQ(json_of(bytes_of_hex("67 01 2f00 05000000 00000000 24000000 07000000 1e000000 0801 0101 ffff"
                                 "18 1a 1c000000")),
            R"({"#raw":"//8=","a":1,"b":true})");
  EXPECT_EQ(json_of(bytes_of_hex("67 01 2500 05000000 00000000 1a000000 00000000 18000000 ffff")),
            R"({"#raw":"//8="})");
}

TEST(ObjectDecoder, UnwrapsAnObjectAtAnOffset) {
  EXPECT_EQ(json_of(bytes_of_hex("1b 04000000 ffff 0801 02000000")), "true");
  EXPECT_THAT(json_of(bytes_of_hex("1b 04000000 ffff 0801 04000000")), HasSubstr("offset is 4"));
  EXPECT_THAT(json_of(bytes_of_hex("1b 04000000 ffff 0801 ffffffff")), HasSubstr("offset is -1"));
}

TEST(ObjectDecoder, SharesAnObjectThatIsReferredTo) {
  const Bytes bytes = bytes_of_hex("18 02000000 01  18 01000000 01 0801  66 08000000");
  BinaryTypes types(types_of({}));
  const Result<Value> value = decode_object(bytes, types);
  ASSERT_TRUE(value) << value.error().message;
  const auto& list = std::get<std::shared_ptr<const Group>>(*value);
  EXPECT_EQ(std::get<std::shared_ptr<const Group>>(list->values[0]),
            std::get<std::shared_ptr<const Group>>(list->values[1]));
}

TEST(ObjectDecoder, EndsAtAnObjectThatContainsItself) {
  EXPECT_EQ(json_of(bytes_of_hex("18 01000000 01  66 06000000")), R"([{"cycle":true}])");
}

TEST(ObjectDecoder, RefusesReferencesToWhereNoObjectLies) {
  EXPECT_THAT(json_of(bytes_of_hex("66 01000000")), HasSubstr("outside"));
  EXPECT_THAT(json_of(bytes_of_hex("66 fbffffff")), HasSubstr("outside"));
  EXPECT_THAT(json_of(bytes_of_hex("66 00000000")), HasSubstr("no object lies"));
  EXPECT_THAT(json_of(bytes_of_hex("18 02000000 01 0801 66 02000000")), HasSubstr("no object lies"));
}

TEST(ObjectDecoder, TakesLinearTimeForReferencesThatMultiply) {
  // Each list holds the one before twice: 2^60 values in 900 bytes.
  Bytes bytes;
  for (int i = 0; i < 60; ++i) append(bytes, bytes_of_hex("18 02000000 01"));
  append(bytes, bytes_of_hex("65 65"));
  for (int i = 58; i >= 0; --i) {
    const auto back = static_cast<std::int32_t>(bytes.size()) - 6 * (i + 1);
    bytes.push_back(std::byte{0x66});
    append_little_endian(bytes, back);
  }
  BinaryTypes types(types_of({}));
  const Result<Value> value = decode_object(bytes, types);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_THAT(to_json(*value).error().message, HasSubstr("too many to show"));
  Bytes again;
  ASSERT_TRUE(append_object(*value, {}, again));
  EXPECT_EQ(again, bytes);
}

/// A list of lists, each of which refers to the one before it: flat as bytes, `count` deep as a tree.
Bytes chain(int count) {
  Bytes bytes = bytes_of_hex("18");
  append_little_endian(bytes, std::int32_t{count});
  append(bytes, bytes_of_hex("01 18 00000000 01"));
  for (int i = 1; i < count; ++i) {
    append(bytes, bytes_of_hex("18 01000000 01 66"));
    append_little_endian(bytes, std::int32_t{i == 1 ? 12 : 17});
  }
  return bytes;
}

TEST(ObjectDecoder, CountsTheDepthThatReferencesMake) {
  BinaryTypes types(types_of({}));
  for (const int count : {kObjectDepthLimit, 100'000}) {
    const Bytes bytes = chain(count);
    const Result<Value> value = decode_object(bytes, types);
    ASSERT_FALSE(value) << count;
    EXPECT_THAT(value.error().message, HasSubstr("deeper than 64"));
  }
  const Bytes bytes = chain(kObjectDepthLimit - 1);
  const Result<Value> value = decode_object(bytes, types);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_TRUE(to_json(*value));
}

TEST(ObjectDecoder, CountsTheDepthOfSharedObjectsInWrappedOnes) {
  // A list of a list with a wrapped chain, and of a list of a list with a reference to the first.
  BinaryTypes types(types_of({}));
  for (const int count : {kObjectDepthLimit - 6, kObjectDepthLimit - 5}) {
    const Bytes inner = chain(count);
    Bytes bytes = bytes_of_hex("18 02000000 01 18 01000000 01 1b");
    append_little_endian(bytes, static_cast<std::int32_t>(inner.size()));
    append(bytes, inner);
    append(bytes, bytes_of_hex("00000000 18 01000000 01 18 01000000 01 66"));
    append_little_endian(bytes, static_cast<std::int32_t>(bytes.size()) - 1 - 6);
    EXPECT_EQ(decode_object(bytes, types).has_value(), count == kObjectDepthLimit - 6);
  }
}

TEST(ObjectDecoder, TakesMemoryFromTheBudgetBeforeAllocating) {
  Bytes bytes = bytes_of_hex("18 00001000 01");
  bytes.resize(bytes.size() + (1 << 20), std::byte{0x65});
  BinaryTypes types(types_of({}));
  DecodeBudget budget{.bytes = (sizeof(Value) << 20) + 1000};
  ASSERT_TRUE(decode_object(bytes, types, budget));
  EXPECT_LT(budget.bytes, 1000);
  const Result<Value> second = decode_object(bytes, types, budget);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kResourceExhausted);
  EXPECT_THAT(second.error().message, HasSubstr("more memory than is left"));
}

TEST(ObjectDecoder, RefusesFieldsThatOverlapToMultiply) {
  // All 200 fields begin at one object: a list of 20 nulls, a proxy, a wrapped list.
  BinaryType type{.id = 5, .name = "Many"};
  type.fields = {{"a", 3, 97}};
  type.schemas = {{.id = 7, .fields = std::vector<std::size_t>(200, 0)}};
  for (const char* const front :
       {"18 14000000 01", "23 00000000 18 14000000 01", "1b 1a000000 18 14000000 01"}) {
    Bytes body = bytes_of_hex("67 01 2b00 05000000 00000000 00000000 07000000 00000000");
    append(body, bytes_of_hex(front));
    for (int i = 0; i < 20; ++i) body.push_back(std::byte{0x65});
    append(body, bytes_of_hex("00000000"));
    const auto footer = static_cast<std::uint32_t>(body.size());
    for (int i = 0; i < 200; ++i) body.push_back(std::byte{0x18});
    store_little_endian(body.data() + kSizeOffset, static_cast<std::uint32_t>(body.size()));
    store_little_endian(body.data() + kFooterOffset, footer);
    BinaryTypes types(types_of({{5, type}}));
    const Result<Value> value = decode_object(body, types);
    ASSERT_FALSE(value) << front;
    EXPECT_THAT(value.error().message, HasSubstr("overlap")) << front;
  }
}

TEST(ObjectDecoder, SaysWhichTypeOrSchemaIsUnknown) {
  Bytes other_type = bytes_of_hex(kCompactPair);
  other_type[kTypeIdOffset] = std::byte{6};
  EXPECT_THAT(json_of(other_type), HasSubstr("no description of the type 6"));
  Bytes other_schema = bytes_of_hex(kCompactPair);
  other_schema[kSchemaIdOffset] = std::byte{8};
  EXPECT_THAT(json_of(other_schema), HasSubstr("'Pair' (5) has no schema 8"));
}

TEST(ObjectDecoder, AsksAgainForATypeThatGotASchema) {
  BinaryType type = pair_type();
  int asked = 0;
  BinaryTypes types([&](std::int32_t) -> Result<std::optional<BinaryType>> {
    ++asked;
    return std::optional(type);
  });
  const Bytes bytes = bytes_of_hex(kCompactPair);
  ASSERT_TRUE(decode_object(bytes, types));
  ASSERT_TRUE(decode_object(bytes, types));
  EXPECT_EQ(asked, 1);
  type.schemas.push_back({.id = 8, .fields = {0, 1}});
  Bytes other = bytes;
  other[kSchemaIdOffset] = std::byte{8};
  ASSERT_TRUE(decode_object(other, types));
  EXPECT_EQ(asked, 2);
}

TEST(ObjectDecoder, AsksOnceForATypeThatTheClusterDoesNotKnow) {
  int asked = 0;
  BinaryTypes types([&](std::int32_t) -> Result<std::optional<BinaryType>> {
    ++asked;
    return std::optional<BinaryType>();
  });
  const Bytes bytes =
      bytes_of_hex("67 01 0b00 06000000 00000000 1f000000 07000000 1a000000 0801 62000000 18");
  ASSERT_TRUE(decode_object(bytes, types));
  ASSERT_TRUE(decode_object(bytes, types));
  EXPECT_EQ(asked, 1);
}

TEST(ObjectDecoder, CopiesNeitherArraysNorTexts) {
  Bytes bytes = bytes_of_hex("18 02000000 01  0c 00001000");
  bytes.resize(bytes.size() + (1 << 20));
  const std::size_t text = bytes.size();
  append(bytes, bytes_of_hex("09 03000000 616263"));
  BinaryTypes types(types_of({}));
  const Result<Value> value = decode_object(bytes, types);
  ASSERT_TRUE(value) << value.error().message;
  const auto& values = std::get<std::shared_ptr<const Group>>(*value)->values;
  EXPECT_EQ(std::get<PrimitiveArray>(values[0]).bytes.data(), bytes.data() + 11);
  EXPECT_EQ(as_bytes(std::get<std::string_view>(values[1])).data(), bytes.data() + text + 5);
}

TEST(ObjectDecoder, RefusesBytesThatFollow) {
  EXPECT_THAT(json_of(bytes_of_hex("0801 65")), HasSubstr("1 bytes follow"));
}

TEST(ObjectDecoder, SurvivesAnyByteOfAnObjectBeingAnother) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomValues values(seed);
    Bytes bytes;
    ASSERT_TRUE(append_object(values.make(), {}, bytes));
    if (bytes.size() > 2000) continue;
    BinaryTypes types(types_of(values.types));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      Bytes damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(1 + (seed * 37 + i) % 255);
      const Result<Value> value = decode_object(damaged, types);
      EXPECT_TRUE(!value || to_json(*value));
    }
  }
}

}  // namespace
}  // namespace headrace::ignite

#include "headrace/net/ignite/object_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/net/ignite/object_bytes_test.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/random_value_test.h"
#include "headrace/net/ignite/value_text.h"

namespace headrace::ignite {
namespace {

using testing::HasSubstr;

Bytes encoded(const Value& value, const EncodeOptions& options = {}) {
  Bytes out;
  const Status status = append_object(value, options, out);
  EXPECT_TRUE(status) << status.error().message;
  return out;
}

std::string refusal(const Value& value) {
  Bytes out = bytes_of_hex("0102");
  const Status status = append_object(value, {}, out);
  EXPECT_EQ(out, bytes_of_hex("0102")) << "an error leaves something behind";
  return status ? "" : status.error().message;
}

/// The example of docs/formats/ignite-objects.md.
TEST(ObjectEncoder, WritesTheBytesOfTheDocumentation) {
  const auto kitten = *make_object("Kitten", {{"name", std::string_view("Tom")}, {"age", std::int32_t{3}}});
  EXPECT_EQ(encoded(kitten), bytes_of_hex("67 01 2b00 87a994bc f33d701b 27000000 05a90074 25000000"
                                          "09 03000000 546f6d  03 03000000  18 20"));
  Bytes registered;
  append_binary_type(*kitten->type, registered);
  EXPECT_EQ(
      registered,
      bytes_of_hex("87a994bc 09060000004b697474656e 65 02000000 090300000061676503000000ff780100 "
                   "09040000006e616d65090000008b7a3300 00 01000000 05a90074 02000000 8b7a3300 ff780100"));
}

TEST(ObjectEncoder, WritesAReferenceToWhatWasWrittenBefore) {
  auto inner = std::make_shared<Group>();
  inner->values = {true};
  auto outer = std::make_shared<Group>();
  outer->values = {std::shared_ptr<const Group>(inner), std::shared_ptr<const Group>(inner)};
  EXPECT_EQ(encoded(std::shared_ptr<const Group>(outer)),
            bytes_of_hex("18 02000000 01  18 01000000 01 0801  66 08000000"));
}

TEST(ObjectEncoder, RefusesWhatCannotBeWritten) {
  EXPECT_THAT(refusal(Cycle()), HasSubstr("contains itself"));
  auto map = std::make_shared<Group>();
  map->code = TypeCode::kMap;
  map->values = {true};
  EXPECT_THAT(refusal(std::shared_ptr<const Group>(map)), HasSubstr("a key without a value"));
  Value deep;
  for (int i = 0; i < kObjectDepthLimit; ++i) {
    auto group = std::make_shared<Group>();
    group->values = {deep};
    deep = std::shared_ptr<const Group>(std::move(group));
  }
  EXPECT_THAT(refusal(deep), HasSubstr("deeper than 64"));
}

TEST(ObjectEncoder, RefusesBytesThatReferToAnObjectBeforeThem) {
  BinaryTypes types(types_of({}));
  // A list of an empty list, and of raw data or a proxy with a reference to that list, or to itself.
  const std::string before = "18 02000000 01  18 00000000 01 ";
  const std::string raw = "67 01 0500 05000000 00000000 1d000000 00000000 18000000 66 ";
  const std::string proxy = "23 00000000 18 01000000 01 66 ";
  const auto message = [&](const std::string& digits) {
    const Bytes bytes = bytes_of_hex(digits);
    const Result<Value> value = decode_object(bytes, types);
    EXPECT_TRUE(value) << value.error().message;
    Bytes out;
    const Status status = append_object(*value, {}, out);
    return status ? "" : status.error().message;
  };
  EXPECT_THAT(message(before + raw + "1e000000"), HasSubstr("raw data refer"));
  EXPECT_EQ(message(before + raw + "1d000000"), "");
  EXPECT_THAT(message(before + proxy + "11000000"), HasSubstr("proxy refers"));
  EXPECT_EQ(message(before + proxy + "06000000"), "");
}

TEST(ObjectEncoder, IsTheInverseOfTheDecoder) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    RandomValues values(seed);
    const Value value = values.make();
    const EncodeOptions options{.compact_footer = seed % 2 == 0};
    const Bytes bytes = encoded(value, options);
    BinaryTypes types(types_of(values.types));
    const Result<Value> decoded = decode_object(bytes, types);
    ASSERT_TRUE(decoded) << seed << ": " << decoded.error().message;
    EXPECT_EQ(to_json(*decoded)->dump(), to_json(value)->dump()) << seed;
    EXPECT_EQ(encoded(*decoded, options), bytes) << seed;
  }
}

TEST(MakeObject, RefusesNamesThatIgniteCannotTellApart) {
  const auto message = [](auto... names) { return make_object("T", {{names, Value()}...}).error().message; };
  EXPECT_THAT(message("age", "Age"), HasSubstr("same id"));
  EXPECT_THAT(message("age", "age"), HasSubstr("same name"));
  EXPECT_THAT(message("\xc3\xa9"), HasSubstr("not ASCII"));
  EXPECT_THAT(make_object("\xc3\xa9", {}).error().message, HasSubstr("not ASCII"));
}

}  // namespace
}  // namespace headrace::ignite

#include "headrace/net/ignite/binary_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/net/ignite/object_bytes_test.h"

namespace headrace::ignite {
namespace {

BinaryType color() {
  BinaryType type{.id = -7, .name = "Color", .affinity_field = "a"};
  type.fields = {{"a", 3, 97}, {"b", 9, 98}};
  type.schemas = {{.id = 7, .fields = {1, 0}}, {.id = 8, .fields = {}}};
  type.is_enum = true;
  type.enum_values = {{"RED", 0}, {"BLUE", 5}};
  return type;
}

TEST(BinaryType, IsReadAsItWasWritten) {
  Bytes answer = {std::byte{1}};
  append_binary_type(color(), answer);
  const Result<std::optional<BinaryType>> read = read_binary_type(answer);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(*read);
  EXPECT_EQ((*read)->name, "Color");
  EXPECT_EQ((*read)->affinity_field, "a");
  EXPECT_EQ((*read)->find_field(98)->name, "b");
  EXPECT_EQ((*read)->find_field(99), nullptr);
  EXPECT_EQ((*read)->find_schema(7)->fields, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ((*read)->enum_values, color().enum_values);
  Bytes again = {std::byte{1}};
  append_binary_type(**read, again);
  EXPECT_EQ(again, answer);
}

TEST(BinaryType, IsNoneIfTheClusterHasNone) {
  const Result<std::optional<BinaryType>> read = read_binary_type(bytes_of_hex("00"));
  ASSERT_TRUE(read);
  EXPECT_FALSE(*read);
}

TEST(BinaryType, OfAnAnswerThatEndsEarlyIsAnError) {
  Bytes answer = {std::byte{1}};
  append_binary_type(color(), answer);
  for (std::size_t size = 0; size < answer.size(); ++size) {
    const Bytes part(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read_binary_type(part)) << size;
  }
}

TEST(NameId, IsTheHashOfTheNameInLowerCase) {
  EXPECT_EQ(name_id("hello"), 99162322);
  EXPECT_EQ(name_id("Hello"), 99162322);
}

}  // namespace
}  // namespace headrace::ignite

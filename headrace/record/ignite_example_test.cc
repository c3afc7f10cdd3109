#include "headrace/record/ignite_example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/text.h"
#include "headrace/record/example.h"

namespace headrace {
namespace {

using ignite::Group;
using ignite::make_object;
using ignite::PrimitiveArray;
using ignite::TypeCode;
using ignite::Value;
using testing::HasSubstr;

/// "NAME=VALUES" of each feature, or the error.
std::string shown(const Value& key, const Value& value, const std::vector<std::string>& columns = {}) {
  Bytes out;
  const Status status = append_ignite_example(key, value, columns, out);
  if (!status) return status.error().message;
  std::string text;
  const std::vector<Feature> features = *parse_example(out);
  for (const Feature& feature : features) {
    text += feature.name + "=";
    if (const auto* const list = std::get_if<std::vector<std::int64_t>>(&feature.values)) {
      for (const std::int64_t element : *list) text += concat(element, "i ");
    } else if (const auto* const floats = std::get_if<std::vector<float>>(&feature.values)) {
      for (const float element : *floats) text += concat(element, "f ");
    } else {
      for (const BytesView bytes : std::get<std::vector<BytesView>>(feature.values))
        text += to_string(bytes) + " ";
    }
  }
  return text;
}

Value list_of(std::vector<Value> values, TypeCode code = TypeCode::kCollection) {
  auto group = std::make_shared<Group>();
  group->code = code;
  group->values = std::move(values);
  return std::shared_ptr<const Group>(std::move(group));
}

TEST(IgniteExample, NamesFieldsOfObjectsInObjects) {
  const std::string pixels = "\x01\x02";
  const Value metadata =
      *make_object("Metadata", {{"label", std::int32_t{2}}, {"file", std::string_view("a.png")}});
  const Value image = *make_object(
      "Image", {{"pixels", PrimitiveArray{TypeCode::kByteArray, as_bytes(pixels)}}, {"metadata", metadata}});
  EXPECT_EQ(shown(std::int64_t{7}, image),
            "key=7i val.metadata.file=a.png val.metadata.label=2i val.pixels=\x01\x02 ");
  EXPECT_EQ(shown(std::int64_t{7}, image, {"val.metadata"}),
            "val.metadata.file=a.png val.metadata.label=2i ");
  EXPECT_EQ(shown(std::int64_t{7}, image, {"val.metadata.label", "key", "val.pix"}),
            "key=7i val.metadata.label=2i ");
}

TEST(IgniteExample, HasAFormForEachSimpleType) {
  EXPECT_EQ(shown(true, std::int8_t{-1}), "key=1i val=-1i ");
  EXPECT_EQ(shown(ignite::Char{'a'}, std::int16_t{-2}), "key=97i val=-2i ");
  EXPECT_EQ(shown(1.5F, 0.25), "key=1.5f val=0.25f ");
  EXPECT_EQ(shown(ignite::Date{5}, ignite::Timestamp{6, 999}), "key=5i val=6i ");
  EXPECT_EQ(shown(ignite::Time{5}, ignite::Enum{{}, 3}), "key=5i val=3i ");
  const std::string digits = "\x7b";
  EXPECT_EQ(shown(ignite::Uuid{0, 1}, ignite::Decimal{1, as_bytes(digits)}),
            "key=00000000-0000-0000-0000-000000000001 val=12.3 ");
  EXPECT_EQ(shown(Value(), std::string_view("text")), "val=text ");
}

TEST(IgniteExample, TurnsArraysAndCollectionsOfOneKindIntoLists) {
  const std::int16_t shorts[] = {1, -2};
  const double doubles[] = {0.5, 2};
  EXPECT_EQ(shown(PrimitiveArray{TypeCode::kShortArray, std::as_bytes(std::span(shorts))},
                  PrimitiveArray{TypeCode::kDoubleArray, std::as_bytes(std::span(doubles))}),
            "key=1i -2i val=0.5f 2f ");
  EXPECT_EQ(shown(list_of({std::int32_t{1}, std::int64_t{2}}),
                  list_of({std::string_view("a"), std::string_view("b")})),
            "key=1i 2i val=a b ");
  EXPECT_EQ(shown(std::int32_t{1}, list_of({ignite::Uuid{0, 1}}, TypeCode::kUuidArray)),
            "key=1i val=00000000-0000-0000-0000-000000000001 ");
  EXPECT_EQ(shown(std::int32_t{1}, list_of({})), "key=1i ");
}

TEST(IgniteExample, NamesAFieldThatHasNoFormUnlessColumnsLeaveItOut) {
  const Value map = list_of({std::int32_t{1}, std::int32_t{2}}, TypeCode::kMap);
  for (const Value& value :
       {map, list_of({map}), list_of({std::int32_t{1}, 1.5F}), list_of({std::int32_t{1}, Value()}),
        Value(ignite::Cycle()), list_of({*make_object("A", {})})}) {
    const Value object = *make_object("B", {{"odd", value}, {"good", true}});
    EXPECT_THAT(shown(true, object), HasSubstr("'val.odd' cannot become a feature"));
    EXPECT_EQ(shown(true, object, {"val.good"}), "val.good=1i ");
  }
}

TEST(IgniteExample, NamesRawData) {
  auto object = std::make_shared<ignite::ComplexObject>();
  object->has_raw_data = true;
  const Value value = std::shared_ptr<const ignite::ComplexObject>(object);
  EXPECT_THAT(shown(true, value), HasSubstr("raw data of the Ignite object 'val'"));
  EXPECT_EQ(shown(true, value, {"key"}), "key=1i ");
}

TEST(IgniteExample, EndsAtReferencesThatMultiply) {
  for (Value value : {Value(true), Value()}) {
    for (int i = 0; i < 60; ++i) value = *make_object("Twice", {{"a", value}, {"b", value}});
    EXPECT_THAT(shown(true, value), HasSubstr("more than 10000 fields"));
    EXPECT_EQ(shown(true, value, {"key"}), "key=1i ");
  }
}

TEST(IgniteExample, LeavesOutWhatHasNoFormIfAskedAndSaysSo) {
  const Value value = *make_object(
      "Row", {{"tags", list_of({std::int32_t{1}, std::int32_t{2}}, TypeCode::kMap)}, {"n", std::int64_t{5}}});
  Bytes out, expected;
  IgniteFeatures found;
  ASSERT_TRUE(append_formed_ignite_example(std::int32_t{1}, value, out, found));
  ASSERT_TRUE(append_ignite_example(std::int32_t{1}, value, {"key", "val.n"}, expected));
  EXPECT_EQ(out, expected);
  EXPECT_EQ(found.unsupported, std::vector<std::string>{"val.tags"});
  ASSERT_EQ(found.features.size(), 2U);
  EXPECT_EQ(found.features[1].name, "val.n");
  EXPECT_EQ(found.features[1].type, DataType::kInt64);
  EXPECT_EQ(found.features[1].value_count, 1U);
}

}  // namespace
}  // namespace headrace

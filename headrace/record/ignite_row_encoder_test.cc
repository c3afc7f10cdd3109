#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/object_bytes_test.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/random_value_test.h"
#include "headrace/record/example.h"
#include "headrace/record/ignite_example.h"

namespace headrace {
namespace {

using ignite::BinaryType;
using ignite::BinaryTypes;
using ignite::bytes_of_hex;
using ignite::make_object;
using ignite::PrimitiveArray;
using ignite::RandomValues;
using ignite::TypeCode;
using ignite::Value;
using testing::HasSubstr;

using Columns = std::vector<std::string>;
using Types = std::map<std::int32_t, BinaryType>;

std::string shown(const Feature& feature) {
  std::string text = feature.name + "=";
  if (const auto* const integers = std::get_if<std::vector<std::int64_t>>(&feature.values)) {
    for (const std::int64_t integer : *integers) text += concat(integer, "i ");
  } else if (const auto* const floats = std::get_if<std::vector<float>>(&feature.values)) {
    text += hex(std::as_bytes(std::span(*floats))) + "f ";
  } else {
    for (const BytesView bytes : std::get<std::vector<BytesView>>(feature.values)) text += hex(bytes) + " ";
  }
  return text;
}

/// The features of an example that `columns` select, as text, or the error.
std::string shown(const Status& made, BytesView example, const Columns& columns) {
  if (!made) return made.error().message;
  const ignite::FieldPaths paths(columns);
  std::string text;
  const std::vector<Feature> features = *parse_example(example);
  for (const Feature& feature : features)
    if (paths.select(feature.name)) text += shown(feature);
  return text;
}

/// The row as decode_object and append_formed_ignite_example make it.
Status append_whole(BytesView key, BytesView value, const std::shared_ptr<BinaryTypes>& types,
                    IgniteFeatures& found, Bytes& out) {
  HEADRACE_TRY(const Value decoded_key, decode_object(key, *types));
  HEADRACE_TRY(const Value decoded_value, decode_object(value, *types));
  return append_formed_ignite_example(decoded_key, decoded_value, out, found);
}

/// Encodes the rows of one cluster in both ways.
struct Ways {
  explicit Ways(Types known) : types(std::make_shared<BinaryTypes>(types_of(std::move(known)))) {}

  std::string whole(BytesView key, BytesView value, const Columns& columns) const {
    Bytes example;
    IgniteFeatures found;
    const Status made = append_whole(key, value, types, found, example);
    return shown(made, example, columns);
  }
  std::string selected(BytesView key, BytesView value, const Columns& columns) const {
    IgniteRowEncoder encoder(columns, types);
    Bytes first, again;
    const Status made = encoder.append(key, value, first);
    const std::string text = shown(made, first, {});
    const Status made_again = encoder.append(key, value, again);
    EXPECT_EQ(shown(made_again, again, {}), text);
    return text;
  }
  /// Some of the names of the row's fields and of the objects around them.
  Columns some_names(BytesView key, BytesView value, std::mt19937_64& random) const {
    Bytes example;
    IgniteFeatures found;
    if (!append_whole(key, value, types, found, example)) return {"val.first"};
    Columns all = found.unsupported, some = {"val.missing"};
    for (const IgniteFeature& feature : found.features) all.push_back(feature.name);
    for (std::string& name : all) {
      if (random() % 3 == 0) some.push_back(name);
      if (random() % 20 == 0) some.push_back(name.substr(0, name.rfind('.')));
    }
    return some;
  }

  std::shared_ptr<BinaryTypes> types;
};

Bytes encoded(const Value& value) {
  Bytes out;
  const Status written = append_object(value, {}, out);
  EXPECT_TRUE(written);
  return out;
}

Bytes wrapped(const Bytes& object) {
  Bytes out = bytes_of_hex("1b");
  append_little_endian(out, static_cast<std::int32_t>(object.size()));
  append(out, object);
  append_little_endian(out, std::int32_t{0});
  return out;
}

/// An object that holds objects; some of them are referred to again.
Value random_object(RandomValues& values) {
  const Value a = values.make(), b = values.make();
  const Value object = *make_object("Top", {{"a", a}, {"b", b}, {"again", a}, {"c", values.make()}});
  const auto& complex = std::get<std::shared_ptr<const ignite::ComplexObject>>(object);
  values.types[complex->type->id] = *complex->type;
  return object;
}

TEST(IgniteRowEncoder, GivesTheSelectedFeaturesOfTheWholeRow) {
  std::mt19937_64 random(7);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomValues values(seed);
    const Bytes key = encoded(values.make());
    const Bytes object = encoded(random_object(values));
    const Bytes value = seed % 5 == 0 ? wrapped(object) : object;
    const Ways ways(values.types);
    const Columns columns = ways.some_names(key, value, random);
    ASSERT_EQ(ways.selected(key, value, columns), ways.whole(key, value, columns)) << "seed " << seed;
    ASSERT_EQ(ways.selected(key, value, {}), ways.whole(key, value, {})) << "seed " << seed;
  }
}

TEST(IgniteRowEncoder, GivesTheSameOfDamagedBytesUnlessTheDamageIsBesideTheColumns) {
  std::mt19937_64 random(8);
  std::size_t same = 0, failed = 0;
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    RandomValues values(seed);
    const Bytes key = encoded(std::int64_t{5});
    const Bytes value = encoded(random_object(values));
    if (value.size() > 2000) continue;
    const Ways ways(values.types);
    const Columns columns = ways.some_names(key, value, random);
    for (std::size_t i = 0; i < value.size(); ++i) {
      Bytes damaged = value;
      damaged[i] ^= static_cast<std::byte>(1 + random() % 255);
      Bytes example;
      IgniteFeatures found;
      const bool is_sound = append_whole(key, damaged, ways.types, found, example).has_value();
      const std::string selected = ways.selected(key, damaged, columns);
      const std::string whole = ways.whole(key, damaged, columns);
      if (is_sound || selected == whole) {
        ASSERT_EQ(selected, whole) << "seed " << seed << ", byte " << i;
        ++(is_sound ? same : failed);
      }
      ASSERT_EQ(ways.selected(key, damaged, {"key", "val"}), ways.whole(key, damaged, {}));
    }
  }
  EXPECT_GT(same, 100U);
  EXPECT_GT(failed, 100U);
}

struct ReviewRow {
  Types types;
  Bytes key = encoded(std::int64_t{5});
  Bytes value;
};

ReviewRow review(std::size_t filling_fields = 0) {
  const float vector[] = {0.5F, -1.5F};
  const Value metadata = *make_object("Meta", {{"label", std::int32_t{3}}, {"file", std::string_view("a")}});
  const auto& inner = std::get<std::shared_ptr<const ignite::ComplexObject>>(metadata);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < filling_fields; ++i) names.push_back(concat("filling", i));
  std::vector<std::pair<std::string_view, Value>> fields = {
      {"text", std::string_view("good")},
      {"vector", PrimitiveArray{TypeCode::kFloatArray, std::as_bytes(std::span(vector))}},
      {"metadata", metadata}};
  for (const std::string& name : names) fields.emplace_back(name, true);
  const auto row = *make_object("Row", std::move(fields));
  ReviewRow out{.types = {{row->type->id, *row->type}, {inner->type->id, *inner->type}}, .value = {}};
  out.value = encoded(Value(row));
  return out;
}

std::string selected(const ReviewRow& row, const Columns& columns) {
  return Ways(row.types).selected(row.key, row.value, columns);
}

TEST(IgniteRowEncoder, LooksOnlyAtSelectedFields) {
  ReviewRow row = review();
  row.value[ignite::kHeaderBytes] = std::byte{0x7f};  // the code of "text"
  row.key = bytes_of_hex("7f");
  EXPECT_EQ(selected(row, {"val.metadata.label", "val.vector"}),
            "val.metadata.label=3i val.vector=0000003f0000c0bff ");
  EXPECT_THAT(selected(row, {"val.text"}), HasSubstr("no type has the code 127"));
  EXPECT_THAT(selected(row, {}), HasSubstr("no type has the code 127"));
}

TEST(IgniteRowEncoder, RefusesDamageThatTheColumnsLeadTo) {
  const ReviewRow sound = review();
  for (const std::size_t at :
       {std::size_t{1}, ignite::kSizeOffset, ignite::kFooterOffset, ignite::kSchemaIdOffset}) {
    ReviewRow row = sound;
    row.value[at] ^= std::byte{0x40};
    const std::string error = selected(row, {"val.vector"});
    EXPECT_EQ(error, Ways(row.types).whole(row.key, row.value, {})) << at;
    EXPECT_THAT(error, testing::Not(HasSubstr("vector="))) << at;
  }
  ReviewRow row = sound;
  row.value.push_back(std::byte{0});
  EXPECT_THAT(selected(row, {"val.vector"}), HasSubstr("1 bytes follow"));
}

TEST(IgniteRowEncoder, ReadsFootersWithIds) {
  const BinaryType pair{.id = 5, .name = "Pair", .fields = {{"a", 3, 97}}, .schemas = {}};
  const Bytes value = bytes_of_hex(
      "67 01 0b00 05000000 00000000 26000000 07000000 1c000000 0801 0101 62000000 18 61000000 1a");
  const Ways ways({{5, pair}});
  EXPECT_EQ(ways.selected(encoded(true), value, {"val.a"}), "val.a=1i ");
  EXPECT_EQ(ways.selected(encoded(true), value, {"val.#98", "key"}), "key=1i val.#98=1i ");
}

TEST(IgniteRowEncoder, GivesNoFeatureWhereAnObjectIsMissing) {
  const ReviewRow row = review();
  const Ways ways(row.types);
  EXPECT_EQ(ways.selected(row.key, encoded(Value()), {"val.metadata.label"}), "");
  EXPECT_EQ(ways.selected(row.key, encoded(std::int32_t{1}), {"val.metadata.label"}), "");
  EXPECT_EQ(ways.selected(row.key, row.value, {"val.vector.x", "val.metadata.x", "val.x"}), "");
}

TEST(IgniteRowEncoder, CountsTheFieldsOfObjectsThatColumnsLeadInto) {
  // The row, its key, the object in it, and 5 more fields besides the filling.
  const ReviewRow full = review(kIgniteFieldLimit - 7), more = review(kIgniteFieldLimit - 6);
  EXPECT_EQ(selected(full, {"val.metadata.label"}), "val.metadata.label=3i ");
  EXPECT_THAT(selected(more, {"val.metadata.label"}), HasSubstr("more than 10000 fields"));
  EXPECT_THAT(selected(more, {}), HasSubstr("more than 10000 fields"));
  EXPECT_EQ(selected(more, {"key"}), "key=5i ");
}

TEST(IgniteRowEncoder, AsksOnceForEachType) {
  const ReviewRow row = review();
  int asked = 0;
  const auto types = std::make_shared<BinaryTypes>([&](std::int32_t id) -> Result<std::optional<BinaryType>> {
    ++asked;
    return std::optional(row.types.at(id));
  });
  IgniteRowEncoder encoder({"val.metadata.label", "val.text"}, types);
  Bytes out;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(encoder.append(row.key, row.value, out));
  EXPECT_EQ(asked, 2);
}

TEST(IgniteRowEncoder, LeavesTheBytesBeforeAnErrorAsTheyWere) {
  ReviewRow row = review();
  IgniteRowEncoder encoder({"val.text"}, std::make_shared<BinaryTypes>(types_of(row.types)));
  Bytes out;
  ASSERT_TRUE(encoder.append(row.key, row.value, out));
  const Bytes before = out;
  row.value[ignite::kHeaderBytes] = std::byte{0x7f};
  EXPECT_FALSE(encoder.append(row.key, row.value, out));
  EXPECT_EQ(out, before);
}

}  // namespace
}  // namespace headrace

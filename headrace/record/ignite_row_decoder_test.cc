#include "headrace/record/ignite_row_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/object_bytes_test.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/random_value_test.h"
#include "headrace/net/ignite/value_text.h"
#include "headrace/record/example_decoder.h"
#include "headrace/record/ignite_example.h"

namespace headrace {
namespace {

using ignite::BinaryTypes;
using ignite::decode_object;
using ignite::make_object;
using ignite::RandomValues;
using ignite::types_of;
using ignite::Value;
using testing::HasSubstr;

/// Holds the buffers of the columns, and shows their rows as text.
class Rows {
 public:
  Rows(const std::vector<Column>& columns, std::size_t rows) : columns_(columns), values_(columns.size()) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Values& values = values_[i];
      const std::size_t size = columns[i].length.value_or(0) * rows;
      values.floats.resize(columns[i].type == DataType::kFloat32 ? size : 0);
      values.integers.resize(columns[i].type == DataType::kInt64 ? size : 0);
      values.texts.resize(columns[i].type == DataType::kBytes ? size : 0);
      buffers_.push_back(buffer(columns[i], values));
    }
  }

  /// "ok", or the error.
  std::string decode(RecordDecoder& decoder, BytesView record, std::size_t row) const {
    const Status status = decoder.decode(record, buffers_, row);
    return status ? "ok" : status.error().message;
  }

  std::string shown() const {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      text += columns_[i].name + ":" + hex(std::as_bytes(std::span(values_[i].floats))) + ":" +
              hex(std::as_bytes(std::span(values_[i].integers))) + ":";
      for (const BytesView bytes : values_[i].texts) text += hex(bytes) + ",";
    }
    return text;
  }

 private:
  struct Values {
    std::vector<float> floats;
    std::vector<std::int64_t> integers;
    std::vector<BytesView> texts;
  };
  static ColumnBuffer buffer(const Column& column, Values& values) {
    switch (column.type) {
      case DataType::kFloat32:
        return column.length ? ColumnBuffer(values.floats.data()) : ColumnBuffer(&values.floats);
      case DataType::kInt64:
        return column.length ? ColumnBuffer(values.integers.data()) : ColumnBuffer(&values.integers);
      default:
        return column.length ? ColumnBuffer(values.texts.data()) : ColumnBuffer(&values.texts);
    }
  }

  const std::vector<Column>& columns_;
  std::vector<Values> values_;
  std::vector<ColumnBuffer> buffers_;
};

Bytes bytes_of(const Value& value) {
  Bytes out;
  EXPECT_TRUE(append_object(value, {}, out));
  return out;
}

Bytes record_of(const Bytes& key, const Bytes& value) {
  Bytes out = key;
  append(out, value);
  return out;
}

/// Columns for some features of a row. Most have the type and length of the feature, and one is missing in
/// the row.
std::vector<Column> some_columns(const IgniteFeatures& found, std::mt19937_64& random) {
  std::vector<Column> columns = {
      {.name = "val.missing", .type = DataType::kInt64, .length = 2, .required = random() % 20 == 0}};
  if (random() % 2 == 0) columns.front().default_value = std::int64_t{7};
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kInt64, DataType::kBytes};
  for (const IgniteFeature& feature : found.features) {
    if (random() % 2 == 0) continue;
    Column column{.name = feature.name, .type = feature.type};
    if (random() % 40 == 0) column.type = kTypes[random() % 3];
    if (random() % 3 > 0) column.length = static_cast<std::uint32_t>(feature.value_count);
    if (random() % 40 == 0) column.length = 3;
    if (!column.length && random() % 5 == 0)
      column.count_if_present = static_cast<std::uint32_t>(feature.value_count + random() % 2);
    columns.push_back(std::move(column));
  }
  return columns;
}

TEST(IgniteRowDecoder, GivesWhatTheExampleOfTheRowGives) {
  std::mt19937_64 random(11);
  std::size_t good = 0, bad = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    RandomValues values(seed);
    const Value row = *make_object("Row", {{"a", values.make()}, {"b", values.make()}, {"c", values.make()}});
    const auto& object = std::get<std::shared_ptr<const ignite::ComplexObject>>(row);
    values.types[object->type->id] = *object->type;
    const Bytes key = bytes_of(values.make()), value = bytes_of(row);
    const auto types = std::make_shared<BinaryTypes>(types_of(values.types));
    Bytes all;
    IgniteFeatures found;
    ASSERT_TRUE(append_formed_ignite_example(*decode_object(key, *types), row, all, found));
    const std::vector<Column> columns = some_columns(found, random);
    IgniteRowEncoder encoder(column_names(columns), types);
    Bytes example;
    ASSERT_TRUE(encoder.append(key, value, example));

    auto examples = ExampleDecoder::create(columns);
    auto decoder = IgniteRowDecoder::create(columns, types);
    ASSERT_TRUE(examples && decoder);
    const Bytes record = record_of(key, value);
    const Rows expected(columns, 2), direct(columns, 2);
    std::string outcome;
    for (const std::size_t place : {0U, 1U}) {
      outcome = expected.decode(*examples, example, place);
      ASSERT_EQ(direct.decode(**decoder, record, place), outcome) << "seed " << seed;
    }
    ++(outcome == "ok" ? good : bad);
    if (outcome == "ok") {
      ASSERT_EQ(direct.shown(), expected.shown()) << "seed " << seed;
    }
  }
  EXPECT_GT(good, 200U);
  EXPECT_GT(bad, 50U);
}

TEST(IgniteRowDecoder, NamesDamageAndReadsOn) {
  const std::vector<Column> columns = {{.name = "key", .type = DataType::kInt64, .length = 1},
                                       {.name = "val", .type = DataType::kBytes, .length = std::nullopt}};
  auto decoder = IgniteRowDecoder::create(columns, std::make_shared<BinaryTypes>(ignite::types_of({})));
  ASSERT_TRUE(decoder);
  const Rows rows(columns, 2);
  const Bytes key = bytes_of(std::int64_t{5}), good = record_of(key, bytes_of(std::string_view("good")));
  EXPECT_EQ(rows.decode(**decoder, good, 0), "ok");
  const auto shown_texts = [&rows] { return rows.shown().substr(rows.shown().find("val")); };
  const std::string before = shown_texts();
  EXPECT_THAT(rows.decode(**decoder, {}, 1), HasSubstr("is damaged"));
  EXPECT_THAT(rows.decode(**decoder, key, 1), HasSubstr("is damaged"));
  Bytes damaged = good;
  damaged[key.size()] = std::byte{0x7f};
  EXPECT_THAT(rows.decode(**decoder, damaged, 1), HasSubstr("no type has the code 127"));
  EXPECT_THAT(rows.decode(**decoder, record_of(key, key), 1), HasSubstr("found int64[1]"));
  EXPECT_EQ(shown_texts(), before);
}

TEST(IgniteRowDecoder, KeepsTextsThatTheRowDoesNotHoldUntilTheyAreDropped) {
  const std::vector<Column> columns = {{.name = "val", .type = DataType::kBytes, .length = 1}};
  auto decoder = IgniteRowDecoder::create(columns, std::make_shared<BinaryTypes>(ignite::types_of({})));
  ASSERT_TRUE(decoder);
  const Rows rows(columns, 50);
  std::string expected = "val:::";
  for (std::uint64_t i = 0; i < 50; ++i) {
    const ignite::Uuid uuid{.high = i, .low = 1};
    ASSERT_EQ(rows.decode(**decoder, record_of(bytes_of(true), bytes_of(uuid)), i), "ok");
    expected += hex(as_bytes(ignite::uuid_text(uuid))) + ",";
  }
  EXPECT_EQ(rows.shown(), expected);
  (*decoder)->drop_strings();
}

}  // namespace
}  // namespace headrace

#include "headrace/record/example_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/record/random_example_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<Column> kColumns = {
    {"sentence", DataType::kFloat32, 4}, {"label", DataType::kInt64, 2}, {"text", DataType::kBytes, 1}};

struct Batch {
  std::vector<float> sentences = std::vector<float>(12);
  std::vector<std::int64_t> labels = std::vector<std::int64_t>(6);
  std::vector<BytesView> texts = std::vector<BytesView>(3);
  std::vector<ColumnBuffer> buffers = {sentences.data(), labels.data(), texts.data()};
};

Bytes example(const FeatureMap& features, unsigned seed = 1) {
  std::mt19937 random(seed);
  return write_any_way(features, random);
}

const FeatureMap kFeatures = {{"sentence", std::vector<float>{1, 2, 3, 4}},
                              {"label", std::vector<std::int64_t>{0, 1}},
                              {"text", std::vector<std::string>{"a review"}},
                              {"id", std::vector<std::string>{"train/pos/0_9.txt"}}};

TEST(ExampleDecoder, FillsTheRowAndNoOther) {
  ExampleDecoder decoder = *ExampleDecoder::create(kColumns);
  Batch batch;
  const Bytes record = example(kFeatures);
  ASSERT_TRUE(decoder.decode(record, batch.buffers, 1));
  EXPECT_THAT(batch.sentences, ElementsAre(0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0));
  EXPECT_THAT(batch.labels, ElementsAre(0, 0, 0, 1, 0, 0));
  EXPECT_EQ(as_text(batch.texts[1]), "a review");
  EXPECT_GE(batch.texts[1].data(), record.data());
  EXPECT_LE(batch.texts[1].data() + 8, record.data() + record.size());
}

TEST(ExampleDecoder, AgreesWithTheParserOnEveryEncoding) {
  std::vector<Column> columns;
  for (const char* name : {"c", "a", "d"}) columns.push_back({name, DataType::kFloat32, std::nullopt, false});
  columns.push_back({"b", DataType::kInt64, std::nullopt, false});
  columns.push_back({"e", DataType::kBytes, std::nullopt, false});
  ExampleDecoder decoder = *ExampleDecoder::create(columns);
  std::mt19937 random(2);
  int decoded = 0;
  for (int round = 0; round < 10'000; ++round) {
    const FeatureMap features = random_features(random);
    const Bytes record = write_any_way(features, random);
    std::vector<float> c, a, d;
    std::vector<std::int64_t> b;
    std::vector<BytesView> e;
    const std::vector<ColumnBuffer> buffers = {&c, &a, &d, &b, &e};
    const Status status = decoder.decode(record, buffers, 0);
    bool fits = true;
    for (const Column& column : columns) {
      const auto found = features.find(column.name);
      fits = fits && (found == features.end() || found->second.index() + 1 == feature_field(column.type));
    }
    ASSERT_EQ(status.has_value(), fits) << status.error().message;
    if (!fits) {
      EXPECT_TRUE(c.empty() && a.empty() && d.empty() && b.empty() && e.empty());
      continue;
    }
    ++decoded;
    FeatureMap found;
    if (features.contains("c")) found["c"] = c;
    if (features.contains("a")) found["a"] = a;
    if (features.contains("d")) found["d"] = d;
    if (features.contains("b")) found["b"] = b;
    if (features.contains("e")) {
      std::vector<std::string> texts;
      for (const BytesView text : e) texts.push_back(to_string(text));
      found["e"] = texts;
    }
    for (const auto& [name, values] : found) ASSERT_EQ(values, features.at(name)) << name;
  }
  EXPECT_GT(decoded, 2000);
}

TEST(ExampleDecoder, RaggedColumnsGrowByOneRow) {
  ExampleDecoder decoder = *ExampleDecoder::create(
      {{"text", DataType::kBytes, std::nullopt}, {"label", DataType::kInt64, std::nullopt}});
  std::vector<BytesView> texts;
  std::vector<std::int64_t> labels = {7};
  const Bytes record =
      example({{"text", std::vector<std::string>{"one", ""}}, {"label", std::vector<std::int64_t>{-5}}});
  ASSERT_TRUE(decoder.decode(record, std::vector<ColumnBuffer>{&texts, &labels}, 0));
  EXPECT_EQ(texts.size(), 2U);
  EXPECT_THAT(labels, ElementsAre(7, -5));
}

TEST(ExampleDecoder, AnErrorNamesTheColumnWhatIsWantedAndWhatWasFound) {
  ExampleDecoder decoder = *ExampleDecoder::create(kColumns);
  Batch batch;
  const auto message_with = [&](const char* name, const FeatureValues& values) {
    FeatureMap features = kFeatures;
    features[name] = values;
    const Status status = decoder.decode(example(features), batch.buffers, 0);
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
    return status.error().message;
  };
  EXPECT_EQ(message_with("sentence", std::vector<float>{1, 2, 3}),
            "feature \"sentence\": expected float32[4], found float32[3]");
  EXPECT_EQ(message_with("sentence", std::vector<float>(1000)),
            "feature \"sentence\": expected float32[4], found float32[1000]");
  EXPECT_EQ(message_with("sentence", std::vector<std::int64_t>{1, 2, 3, 4}),
            "feature \"sentence\": expected float32[4], found int64[4]");
  EXPECT_EQ(message_with("text", std::vector<std::string>{"a", "b"}),
            "feature \"text\": expected bytes, found bytes[2]");
  FeatureMap features = kFeatures;
  features.erase("label");
  EXPECT_THAT(decoder.decode(example(features), batch.buffers, 0).error().message,
              HasSubstr("\"label\": expected int64[2], but the example does not have it"));
}

TEST(ExampleDecoder, ARaggedColumnMayTakeNoValuesOrOneNumberOfThem) {
  auto decoder = *ExampleDecoder::create(
      {{.name = "n", .type = DataType::kInt64, .required = false, .count_if_present = 2}});
  std::vector<std::int64_t> values;
  const auto decode = [&](const FeatureMap& features) {
    return decoder.decode(example(features), std::vector<ColumnBuffer>{&values}, 0);
  };
  EXPECT_TRUE(decode({{"n", std::vector<std::int64_t>{3, 4}}}));
  EXPECT_TRUE(decode({{"n", std::vector<std::int64_t>{}}}));
  EXPECT_TRUE(decode({}));
  const Status wrong = decode({{"n", std::vector<std::int64_t>{5}}});
  EXPECT_EQ(wrong.error().message, "feature \"n\": expected int64[0 or 2], found int64[1]");
  EXPECT_THAT(values, ElementsAre(3, 4)) << "the row is taken back";
}

TEST(ExampleDecoder, TheMessageAboutAnAbsentFeatureEndsWithTheColumnsAdvice) {
  auto decoder = *ExampleDecoder::create({{.name = "n", .length = 1, .advice = "give it a default"}});
  float target = 0;
  const ColumnBuffer buffer = &target;
  EXPECT_THAT(decoder.decode(example({}), {&buffer, 1}, 0).error().message,
              testing::EndsWith("but the example does not have it; give it a default"));
}

TEST(ExampleDecoder, WhatIsNotRequiredMayBeAbsent) {
  std::vector<Column> columns = kColumns;
  for (Column& column : columns) column.required = false;
  ExampleDecoder decoder = *ExampleDecoder::create(columns);
  Batch batch;
  batch.sentences.assign(12, 9);
  batch.labels.assign(6, 9);
  ASSERT_TRUE(decoder.decode({}, batch.buffers, 2));
  EXPECT_THAT(batch.sentences, ElementsAre(9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0));
  EXPECT_THAT(batch.labels, ElementsAre(9, 9, 9, 9, 0, 0));
  EXPECT_TRUE(batch.texts[2].empty());
}

TEST(ExampleDecoder, ADefaultFillsWhatIsAbsentAndNothingElse) {
  std::vector<Column> columns = kColumns;
  columns[0].default_value = 0.5F;
  columns[1].default_value = std::int64_t{-7};
  columns[2].default_value = "none";
  columns[2].required = false;
  ExampleDecoder decoder = *ExampleDecoder::create(columns);
  Batch batch;
  ASSERT_TRUE(decoder.decode({}, batch.buffers, 1));
  EXPECT_THAT(batch.sentences, ElementsAre(0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0));
  EXPECT_THAT(batch.labels, ElementsAre(0, 0, -7, -7, 0, 0));
  EXPECT_EQ(as_text(batch.texts[1]), "none");
  const Bytes record = example(kFeatures);
  ASSERT_TRUE(decoder.decode(record, batch.buffers, 2));
  EXPECT_THAT(batch.sentences, ElementsAre(0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 1, 2, 3, 4));
  EXPECT_EQ(as_text(batch.texts[2]), "a review");
  // A feature that is present with too few values is an error; it does not count as absent.
  FeatureMap empty = kFeatures;
  empty["label"] = std::vector<std::int64_t>{};
  EXPECT_THAT(decoder.decode(example(empty), batch.buffers, 0).error().message,
              HasSubstr("\"label\": expected int64[2], found int64[0]"));
}

TEST(ExampleDecoder, ADefaultMustBeOfTheColumnsType) {
  const auto message = [](Column column) { return ExampleDecoder::create({column}).error().message; };
  EXPECT_EQ(message({"x", DataType::kInt64, 2, true, 1.0F}),
            "feature \"x\": int64[2] cannot have a default of type float32");
  EXPECT_EQ(message({"x", DataType::kFloat32, 1, true, std::int64_t{1}}),
            "feature \"x\": float32 cannot have a default of type int64");
  EXPECT_EQ(message({"x", DataType::kBytes, std::nullopt, true, "ragged"}),
            "feature \"x\": bytes[any] cannot have a default of type bytes");
}

TEST(ExampleDecoder, BuffersMustFitTheColumns) {
  ExampleDecoder decoder = *ExampleDecoder::create(kColumns);
  Batch batch;
  std::swap(batch.buffers[0], batch.buffers[1]);
  EXPECT_EQ(decoder.decode(example(kFeatures), batch.buffers, 0).error().code, Code::kInvalidArgument);
  batch.buffers.pop_back();
  EXPECT_EQ(decoder.decode(example(kFeatures), batch.buffers, 0).error().code, Code::kInvalidArgument);
  EXPECT_EQ(ExampleDecoder::create({{"x"}, {"y"}, {"x"}}).error().code, Code::kInvalidArgument);
}

TEST(ExampleDecoder, DamagedRecordsAreErrorsOrDecodeButNeverOverrun) {
  ExampleDecoder decoder = *ExampleDecoder::create(kColumns);
  std::mt19937 random(5);
  int errors = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes record = write_any_way(kFeatures, random);
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
      record[random() % record.size()] = static_cast<std::byte>(random());
    }
    Batch batch;
    batch.sentences[0] = batch.sentences[8] = 5;
    errors += decoder.decode(record, batch.buffers, 1) ? 0 : 1;
    ASSERT_TRUE(batch.sentences[0] == 5 && batch.sentences[8] == 5);
    ASSERT_TRUE(batch.labels[1] == 0 && batch.labels[4] == 0);
  }
  EXPECT_GT(errors, 5000);
}

// A record of one feature, whose message is `lists`.
Bytes one_feature(std::string_view name, BytesView lists) {
  Bytes record;
  WireWriter(record).message(1, [&](WireWriter& map) {
    map.message(1, [&](WireWriter& entry) {
      entry.text(1, name);
      entry.bytes(2, lists);
    });
  });
  return record;
}

TEST(ExampleDecoder, ValuesInPiecesFillARowAndNoMore) {
  ExampleDecoder decoder = *ExampleDecoder::create({{"x", DataType::kFloat32, 4}});
  const auto decode = [&](std::initializer_list<std::size_t> pieces, std::vector<float>& out) {
    out.assign(12, 9);
    float next = 1;
    Bytes feature;
    WireWriter(feature).message(2, [&](WireWriter& list) {
      for (const std::size_t piece : pieces) {
        std::vector<float> values;
        while (values.size() < piece) values.push_back(next++);
        list.bytes(1, std::as_bytes(std::span(values)));
      }
    });
    const Status status = decoder.decode(one_feature("x", feature), std::vector<ColumnBuffer>{out.data()}, 1);
    return status ? std::string() : status.error().message;
  };
  std::vector<float> row;
  EXPECT_EQ(decode({1, 0, 2, 1}, row), "");
  EXPECT_THAT(row, ElementsAre(9, 9, 9, 9, 1, 2, 3, 4, 9, 9, 9, 9));
  for (const auto& pieces : {std::initializer_list<std::size_t>{2, 2, 1}, {2, 3}, {5}, {4, 0, 1}}) {
    EXPECT_EQ(decode(pieces, row), "feature \"x\": expected float32[4], found float32[5]");
    EXPECT_THAT(std::span(row).first(4), testing::Each(9));
    EXPECT_THAT(std::span(row).last(4), testing::Each(9));
  }
  EXPECT_EQ(decode({6, 1}, row), "feature \"x\": expected float32[4], found float32[7]");
}

TEST(ExampleDecoder, AMalformedFeatureIsNamed) {
  std::vector<float> fixed(4), ragged = {7};
  const auto message = [&](std::optional<std::size_t> length, BytesView feature) {
    ExampleDecoder decoder = *ExampleDecoder::create({{"x", DataType::kFloat32, length}});
    const ColumnBuffer buffer = length ? ColumnBuffer(fixed.data()) : ColumnBuffer(&ragged);
    const Status status = decoder.decode(one_feature("x", feature), std::vector{buffer}, 0);
    EXPECT_EQ(status.error().code, Code::kDataLoss);
    return status.error().message;
  };
  for (const std::string_view wrong : {"\x12\5", "\x12\2\x0a\5", "\x12\3\x0a\1x", "\x1a\3\x0a\1\xff"}) {
    for (const auto length : {std::optional<std::size_t>(4), std::optional<std::size_t>()})
      EXPECT_EQ(message(length, as_bytes(wrong)), "not a tf.Example: malformed feature \"x\"");
  }
  EXPECT_THAT(ragged, ElementsAre(7));
  ExampleDecoder decoder = *ExampleDecoder::create({{"x", DataType::kFloat32, 4}});
  const Status record = decoder.decode(as_bytes("\x0a\5"), std::vector<ColumnBuffer>{fixed.data()}, 0);
  EXPECT_EQ(record.error().code, Code::kDataLoss);
  EXPECT_EQ(record.error().message, "not a tf.Example: malformed message");
}

TEST(ExampleDecoder, AfterAnErrorRaggedColumnsHoldWhatTheyHeld) {
  ExampleDecoder decoder = *ExampleDecoder::create({{"f", DataType::kFloat32, std::nullopt},
                                                    {"i", DataType::kInt64, std::nullopt},
                                                    {"t", DataType::kBytes, std::nullopt},
                                                    {"missing", DataType::kInt64, 1}});
  std::vector<float> floats = {1, 2};
  std::vector<std::int64_t> integers = {3};
  std::vector<BytesView> texts = {as_bytes("a"), as_bytes("b"), as_bytes("c")};
  std::int64_t missing = 0;
  const Bytes record = example({{"f", std::vector<float>{7}},
                                {"i", std::vector<std::int64_t>{8, 9}},
                                {"t", std::vector<std::string>{"x"}}});
  const std::vector<ColumnBuffer> buffers = {&floats, &integers, &texts, &missing};
  EXPECT_FALSE(decoder.decode(record, buffers, 0));
  EXPECT_THAT(floats, ElementsAre(1, 2));
  EXPECT_THAT(integers, ElementsAre(3));
  EXPECT_EQ(texts.size(), 3U);
}

TEST(ExampleDecoder, AnAbsentRaggedFeatureAddsNothing) {
  std::vector<float> floats = {1, 2};
  const std::vector<ColumnBuffer> buffers = {&floats};
  EXPECT_TRUE(ExampleDecoder::create({{"f", DataType::kFloat32, std::nullopt, false}})
                  ->decode(example({}), buffers, 0));
  EXPECT_THAT(floats, ElementsAre(1, 2));
  EXPECT_FALSE(
      ExampleDecoder::create({{"f", DataType::kFloat32, std::nullopt}})->decode(example({}), buffers, 0));
}

TEST(ExampleDecoder, ManyFeaturesAndLongNamesAreFound) {
  FeatureMap features;
  std::vector<Column> columns;
  for (std::int64_t i = 0; i < 300; ++i) {
    const std::string name = concat("feature ", i, std::string(i % 2 == 0 ? 300 : 0, 'x'));
    features[name] = std::vector<std::int64_t>{i};
    columns.push_back({name, DataType::kInt64, 1});
  }
  ExampleDecoder decoder = *ExampleDecoder::create(columns);
  for (unsigned seed = 1; seed < 4; ++seed) {
    std::vector<std::int64_t> values(300);
    std::vector<ColumnBuffer> buffers;
    for (std::int64_t& value : values) buffers.push_back(&value);
    ASSERT_TRUE(decoder.decode(example(features, seed), buffers, 0));
    for (std::int64_t i = 0; i < 300; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
  }
}

TEST(ExampleDecoder, SaysWhichBufferDoesNotFit) {
  ExampleDecoder decoder = *ExampleDecoder::create(kColumns);
  Batch batch;
  const auto message = [&] { return decoder.decode(example(kFeatures), batch.buffers, 0).error().message; };
  std::vector<float> ragged;
  std::swap(batch.buffers[0], batch.buffers[1]);
  EXPECT_EQ(message(), "feature \"sentence\": the buffer is not for float32[4]");
  batch.buffers[0] = &ragged;
  EXPECT_EQ(message(), "feature \"sentence\": the buffer is not for float32[4]");
  batch.buffers.pop_back();
  EXPECT_EQ(message(), "2 buffers for 3 columns");
  EXPECT_EQ(ExampleDecoder::create({{"x"}, {"y"}, {"x"}}).error().message, "feature \"x\" is selected twice");
  EXPECT_TRUE(ExampleDecoder::create({{"x"}, {"y"}}));
  EXPECT_EQ(describe_column({"x", DataType::kFloat32, std::nullopt}), "float32[any]");
  EXPECT_EQ(describe_column({"x", DataType::kInt64, 0}), "int64[0]");
  EXPECT_EQ(describe_column({"x", DataType::kInt64, 1}), "int64");
}

}  // namespace
}  // namespace headrace

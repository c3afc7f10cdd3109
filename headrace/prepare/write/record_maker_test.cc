#include "headrace/prepare/write/record_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/codec/image/image_encoder.h"
#include "headrace/engine/hash/hash_encoder.h"
#include "headrace/prepare/extract/row_batch.h"
#include "headrace/prepare/row/byte_strings.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Cell text_cell(std::string_view text) { return {.kind = CellKind::kBytes, .data = as_bytes(text)}; }

template <typename Number>
Cell number_cell(CellKind kind, const std::vector<Number>& numbers) {
  return {.kind = kind, .data = std::as_bytes(std::span(numbers))};
}

struct TextsCell {
  explicit TextsCell(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) append_byte_string(data, as_bytes(text));
  }
  operator Cell() const { return {.kind = CellKind::kByteStrings, .data = data}; }
  Bytes data{};
};

struct Made {
  std::string reason;
  std::string detail;
  bool is_rejected = false;
  std::vector<Feature> features;
  Bytes example;  // which the features view

  template <typename Values>
  Values of(const std::string& name) const {
    for (const Feature& feature : features) {
      if (feature.name == name) return std::get<Values>(feature.values);
    }
    return {};
  }
  std::string text(const std::string& name) const {
    const auto values = of<std::vector<BytesView>>(name);
    return values.size() == 1 ? to_string(values[0]) : "none";
  }
};

std::vector<std::string> texts(const Made& made, const std::string& name) {
  std::vector<std::string> out;
  for (const BytesView value : made.of<std::vector<BytesView>>(name)) out.push_back(to_string(value));
  return out;
}

// A record of each row of cells; columns ascend by name.
std::vector<Made> make(std::string_view toml, const std::vector<std::vector<Cell>>& rows) {
  const auto schema = parse_schema(toml, "test.toml");
  if (!schema) ADD_FAILURE() << schema.error().message;
  const Vocabularies vocabularies = {{"label", {"cat", "dog", "12"}}};
  const TextEncoders encoders = {{"hash:8", *make_hash_encoder(8)}};
  RecordMaker maker(*schema, vocabularies, encoders);
  std::vector<std::span<const Cell>> views(rows.begin(), rows.end());
  std::vector<Made> out;
  const Status status = maker.make(views, [&](const MadeRecord& record) -> Status {
    EXPECT_EQ(record.row, out.size());
    out.push_back({record.remark.reason, record.remark.detail, record.remark.is_rejection, {}, {}});
    out.back().example.assign(record.example.begin(), record.example.end());
    return {};
  });
  EXPECT_TRUE(status);
  for (Made& made : out) made.features = *parse_example(made.example);
  return out;
}

TEST(RecordMaker, NumbersComeOfTextAndOfNumbers) {
  const std::vector<std::int64_t> wholes = {7};
  const std::vector<float> floats = {2.5F};
  const auto made = make("[features.a]\ntype='int64'\n[features.b]\ntype='float32'",
                         {{text_cell(" 12 "), text_cell("1e-3")},
                          {number_cell(CellKind::kInt64s, wholes), number_cell(CellKind::kInt64s, wholes)},
                          {number_cell(CellKind::kFloats, floats), number_cell(CellKind::kFloats, floats)}});
  EXPECT_THAT(made[0].of<std::vector<std::int64_t>>("a"), ElementsAre(12));
  EXPECT_THAT(made[0].of<std::vector<float>>("b"), ElementsAre(0.001F));
  EXPECT_THAT(made[1].of<std::vector<float>>("b"), ElementsAre(7.0F));
  EXPECT_TRUE(made[2].is_rejected);
  EXPECT_THAT(made[2].detail, HasSubstr("column a"));
}

TEST(RecordMaker, AWholeNumberMayBeWrittenWithAFractionOfZeros) {
  const auto made = make("[features.a]\ntype='int64'\n[features.b]\ntype='int64'\nshape='ragged'",
                         {{text_cell("26.0"), text_cell("[1.0, 2]")}, {text_cell("26.5"), text_cell("")}});
  EXPECT_THAT(made[0].of<std::vector<std::int64_t>>("a"), ElementsAre(26));
  EXPECT_THAT(made[0].of<std::vector<std::int64_t>>("b"), ElementsAre(1, 2));
  EXPECT_TRUE(made[1].is_rejected);
}

TEST(RecordMaker, AFractionBeginsAsTheSchemaSaysAndWithAPointInItsDefault) {
  const auto made = make("decimal=','\n[features.a]\ntype='float32'\ndefault='0.5'",
                         {{text_cell("2,5")}, {Cell{}}, {text_cell("2.5")}});
  EXPECT_THAT(made[0].of<std::vector<float>>("a"), ElementsAre(2.5F));
  EXPECT_THAT(made[1].of<std::vector<float>>("a"), ElementsAre(0.5F));
  EXPECT_TRUE(made[2].is_rejected);
}

TEST(RecordMaker, ATextWhereANumberBelongsIsRejectedWithTheOptionsThatWouldTakeIt) {
  const auto made = make("[features.a]\ntype='float32'", {{text_cell("NA")}, {text_cell("2,5")}});
  EXPECT_THAT(made[0].detail, HasSubstr("missing = [\"NA\"] in the schema"));
  EXPECT_THAT(made[0].detail, HasSubstr("optional = true of the feature"));
  EXPECT_THAT(made[1].detail, HasSubstr("decimal = \",\" in the schema"));
}

TEST(RecordMaker, ListsHaveTheShapeOfTheSchema) {
  const auto made =
      make("[features.a]\ntype='int64'\nshape=[2]\n[features.b]\ntype='float32'\nshape='ragged'",
           {{text_cell("[1, 2]"), text_cell("")}, {text_cell("[1, 2, 3]"), text_cell("1")}});
  EXPECT_THAT(made[0].of<std::vector<std::int64_t>>("a"), ElementsAre(1, 2));
  EXPECT_THAT(made[0].of<std::vector<float>>("b"), IsEmpty());
  EXPECT_TRUE(made[1].is_rejected);
  EXPECT_THAT(made[1].detail, HasSubstr("has 3 numbers, and the shape is [2]"));
}

TEST(RecordMaker, ListsOfTextsHaveTheShapeOfTheSchema) {
  const TextsCell none({}), two({"a", ""}), three({"a", "b", "c"});
  const std::vector<std::int64_t> no_numbers, one_number = {1};
  const auto made = make("[features.a]\ntype='string'\nshape=[2]\n[features.b]\ntype='bytes'\nshape='ragged'",
                         {{two, none},
                          {two, three},
                          {two, text_cell("\xff")},
                          {two, number_cell(CellKind::kInt64s, no_numbers)},
                          {three, none},
                          {text_cell("a"), none},
                          {two, number_cell(CellKind::kInt64s, one_number)},
                          {two, {}}});
  EXPECT_THAT(texts(made[0], "a"), ElementsAre("a", ""));
  EXPECT_THAT(texts(made[0], "b"), IsEmpty());
  EXPECT_THAT(made[0].features, testing::SizeIs(2));
  EXPECT_THAT(texts(made[1], "b"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(texts(made[2], "b"), ElementsAre("\xff"));
  EXPECT_THAT(texts(made[3], "b"), IsEmpty());
  EXPECT_FALSE(made[3].is_rejected);
  EXPECT_EQ(made[4].reason, "another count of texts than the shape");
  EXPECT_EQ(made[4].detail, "column a: has 3 texts or byte strings, and the shape is [2]");
  EXPECT_EQ(made[5].detail, "column a: has 1 texts or byte strings, and the shape is [2]");
  EXPECT_EQ(made[6].reason, "numbers where text or bytes belong");
  EXPECT_EQ(made[7].reason, "missing value");
}

TEST(RecordMaker, WhereOneValueBelongsAListOfOneIsThatOneAndAnEmptyListMissing) {
  const TextsCell none({}), dog({"dog"}), two({"dog", "cat"});
  for (const char* const type : {"'string'", "'bytes'", "'label'", "'vector'\nencoder='hash:8'"}) {
    const std::string schema = concat("[features.label]\ntype=", type);
    const auto made = make(schema, {{text_cell("dog")}, {dog}, {two}, {none}});
    EXPECT_EQ(made[1].example, made[0].example) << type;
    EXPECT_FALSE(made[1].is_rejected) << type << made[1].detail;
    EXPECT_EQ(made[2].reason, "a list where one value belongs") << type;
    EXPECT_THAT(made[2].detail, testing::StartsWith("column label: holds 2 texts or byte strings")) << type;
    EXPECT_EQ(made[3].reason, "missing value") << type;
    EXPECT_THAT(make(schema + "\noptional=true", {{none}})[0].features, IsEmpty()) << type;
  }
}

TEST(RecordMaker, NumbersMayBeAListOfTexts) {
  const TextsCell numbers({"1", "-2"}), words({"1", "one"}), one({"7"});
  const auto lists = make("[features.a]\ntype='int64'\nshape='ragged'", {{numbers}, {words}});
  EXPECT_THAT(lists[0].of<std::vector<std::int64_t>>("a"), ElementsAre(1, -2));
  EXPECT_TRUE(lists[1].is_rejected);
  const auto single = make("[features.a]\ntype='float32'", {{one}, {numbers}});
  EXPECT_THAT(single[0].of<std::vector<float>>("a"), ElementsAre(7.0F));
  EXPECT_EQ(single[1].detail, "column a: holds 2 texts, where one number belongs");
}

TEST(RecordMaker, EachTextOfAListIsOfTheEncodingOrRejectedOrRepaired) {
  const TextsCell given({"caf\xe9", "tea", "\xe9"});
  const std::string list = "[features.t]\ntype='string'\nshape='ragged'";
  EXPECT_THAT(make(list, {{given}})[0].detail, HasSubstr("column t: in 2 places; if it is Latin-1"));
  EXPECT_THAT(texts(make("encoding='latin-1'\n" + list, {{given}})[0], "t"), ElementsAre("café", "tea", "é"));
  const auto repaired = make("encoding_errors='replace'\n" + list, {{given}, {TextsCell({"tea"})}});
  EXPECT_THAT(texts(repaired[0], "t"), ElementsAre("caf\uFFFD", "tea", "\uFFFD"));
  EXPECT_EQ(repaired[0].detail, "column t: in 2 places");
  EXPECT_FALSE(repaired[0].is_rejected);
  EXPECT_EQ(repaired[1].reason, "");
}

TEST(RecordMaker, ColumnsOfAVectorAreOneNumberEach) {
  const auto made =
      make("[features.m]\ntype='float32'\ncolumns=['z', 'a']",
           {{text_cell("1"), text_cell("2")}, {text_cell("1"), {}}, {text_cell("1 2"), text_cell("3")}});
  EXPECT_THAT(made[0].of<std::vector<float>>("m"), ElementsAre(2.0F, 1.0F));
  EXPECT_EQ(made[1].reason, "missing value");
  EXPECT_THAT(made[1].detail, HasSubstr("column z"));
  EXPECT_TRUE(made[2].is_rejected);
}

TEST(RecordMaker, LabelsAreIdsOrOneHot) {
  const std::vector<std::int64_t> twelve = {12};
  const std::vector<float> whole = {12.0F};
  const auto ids = make("[features.label]\ntype='label'", {{text_cell(" dog")},
                                                           {number_cell(CellKind::kInt64s, twelve)},
                                                           {number_cell(CellKind::kFloats, whole)},
                                                           {text_cell("bird")},
                                                           {text_cell(std::string(2000, 'x'))}});
  EXPECT_THAT(ids[0].of<std::vector<std::int64_t>>("label"), ElementsAre(1));
  EXPECT_THAT(ids[1].of<std::vector<std::int64_t>>("label"), ElementsAre(2));
  EXPECT_THAT(ids[2].of<std::vector<std::int64_t>>("label"), ElementsAre(2));
  EXPECT_EQ(ids[3].reason, "label that is not in the vocabulary");
  EXPECT_THAT(ids[3].detail, testing::HasSubstr("is not in the vocabulary: "));
  EXPECT_EQ(ids[4].reason, "no label");
  const auto hot = make("[features.label]\ntype='label'\none_hot=true\ndefault='cat'", {{Cell{}}});
  EXPECT_THAT(hot[0].of<std::vector<std::int64_t>>("label"), ElementsAre(1, 0, 0));
}

TEST(RecordMaker, AMissingCellIsADefaultALackOrARejection) {
  const auto made = make(
      "[features.a]\ntype='string'\noptional=true\n[features.b]\ntype='int64'\ndefault='4'\n"
      "[features.c]\ntype='bytes'",
      {{{}, {}, text_cell("x")}, {{}, {}, {}}});
  EXPECT_EQ(made[0].features.size(), 2U);
  EXPECT_THAT(made[0].of<std::vector<std::int64_t>>("b"), ElementsAre(4));
  EXPECT_EQ(made[1].reason, "missing value");
  EXPECT_THAT(made[1].example, IsEmpty());
}

TEST(RecordMaker, AFileNameIsWhatFollowsTheLastSlash) {
  const auto name_of = [](std::string_view uri) {
    return make("[features.name]\ntype = 'string'\nfile_name = true", {{text_cell(uri)}})[0].text("name");
  };
  EXPECT_EQ(name_of("s3://raw/cats/a b.jpg"), "a b.jpg");
  EXPECT_EQ(name_of("b.jpg"), "b.jpg");
  EXPECT_EQ(name_of("folder/"), "");
}

TEST(RecordMaker, TextIsOfTheEncodingOrRejectedOrRepaired) {
  const auto strict = make("[features.t]\ntype='string'", {{text_cell("caf\xe9")}, {text_cell("café")}});
  EXPECT_TRUE(strict[0].is_rejected);
  EXPECT_EQ(strict[1].text("t"), "café");
  const auto latin =
      make("encoding='latin-1'\n[features.t]\ntype='string'\ndefault='é'", {{text_cell("caf\xe9")}, {{}}});
  EXPECT_EQ(latin[0].text("t"), "café");
  EXPECT_EQ(latin[1].text("t"), "é");
  const auto repaired =
      make("encoding_errors='replace'\n[features.t]\ntype='string'", {{text_cell("caf\xe9")}});
  EXPECT_EQ(repaired[0].text("t"), "caf\uFFFD");
  EXPECT_FALSE(repaired[0].is_rejected);
  EXPECT_EQ(repaired[0].reason, "text that is not utf-8, replaced");
}

TEST(RecordMaker, AVectorIsTheSameWhateverElseIsInTheCall) {
  const char* const schema = "[features.v]\ntype='vector'\ncolumn='t'\nencoder='hash:8'";
  const std::vector<float> none = {1.0F};
  const auto many = make(
      schema,
      {{text_cell("one text")}, {Cell{}}, {number_cell(CellKind::kFloats, none)}, {text_cell("another")}});
  const auto alone = make(schema, {{text_cell("another")}});
  EXPECT_EQ(many[3].example, alone[0].example);
  EXPECT_EQ(many[3].of<std::vector<float>>("v").size(), 8U);
  EXPECT_TRUE(many[1].is_rejected);
  EXPECT_TRUE(many[2].is_rejected);
}

TEST(RecordMaker, AVectorIsWhatTheEncoderMakesOfTheTextOrOfTheDefault) {
  const auto encoded = [](std::string_view text) {
    std::vector<float> out(8);
    EXPECT_TRUE((*make_hash_encoder(8))->encode({&text, 1}, out));
    return out;
  };
  const char* const schema =
      "[features.v]\ntype='vector'\ncolumn='t'\nencoder='hash:8'\ndefault='none given'";
  const auto made = make(schema, {{text_cell("one text")}, {Cell{}}});
  EXPECT_EQ(made[0].of<std::vector<float>>("v"), encoded("one text"));
  EXPECT_EQ(made[1].of<std::vector<float>>("v"), encoded("none given"));
  EXPECT_NE(encoded("one text"), encoded("none given"));
}

TEST(RecordMaker, EachVectorIsOfItsOwnColumn) {
  const auto both = make(
      "[features.a]\ntype='vector'\ncolumn='s'\nencoder='hash:8'\n"
      "[features.b]\ntype='vector'\ncolumn='t'\nencoder='hash:8'",
      {{text_cell("one"), text_cell("two")}, {text_cell("three"), text_cell("four")}});
  const auto alone = [](std::string_view text) {
    const auto made = make("[features.v]\ntype='vector'\ncolumn='t'\nencoder='hash:8'", {{text_cell(text)}});
    return made[0].of<std::vector<float>>("v");
  };
  EXPECT_EQ(both[0].of<std::vector<float>>("a"), alone("one"));
  EXPECT_EQ(both[0].of<std::vector<float>>("b"), alone("two"));
  EXPECT_EQ(both[1].of<std::vector<float>>("b"), alone("four"));
}

TEST(RecordMaker, TheSizeOfAnImageIsThatOfWhatIsStored) {
  const std::vector<std::uint8_t> samples(6 * 4 * 2);
  Bytes png;
  ASSERT_TRUE(
      encode_png(dense_pixels<const std::uint8_t>(samples.data(), {.width = 6, .height = 4}, 2), 6, png));
  const Cell image{.kind = CellKind::kBytes, .data = png};
  const auto made = make(
      "[features.a]\ntype='image-height'\nimage='i'\n[features.b]\ntype='image-width'\nimage='i'\n"
      "[features.c]\ntype='image-channels'\nimage='i'\n"
      "[features.i]\ntype='image'\nresize=[3, 2]\nencode='raw-base64'\noptional=true",
      {{image}, {Cell{}}});
  EXPECT_THAT(made[0].of<std::vector<std::int64_t>>("a"), ElementsAre(3));
  EXPECT_THAT(made[0].of<std::vector<std::int64_t>>("b"), ElementsAre(2));
  EXPECT_THAT(made[0].of<std::vector<std::int64_t>>("c"), ElementsAre(1));
  EXPECT_EQ(made[0].text("i"), "AAAAAAAA");
  EXPECT_FALSE(made[1].is_rejected);
  EXPECT_THAT(made[1].features, IsEmpty());
}

TEST(RecordMaker, WhatIsNoImageIsRejectedWithItsColumn) {
  const auto made =
      make("[features.i]\ntype='image'", {{text_cell("GIF89a")}, {text_cell("")}, {text_cell("text")}});
  for (const Made& record : made) {
    EXPECT_TRUE(record.is_rejected);
    EXPECT_THAT(record.detail, HasSubstr("column i"));
  }
  EXPECT_EQ(made[0].reason, "image of a kind that is not read");
}

}  // namespace
}  // namespace headrace

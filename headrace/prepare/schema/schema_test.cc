#include "headrace/prepare/schema/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

constexpr std::string_view kImages = R"(
id = "image_uri"
group = "patient"

[splits]
train = 0.75
test = 0.25

[features.image]
type = "image"
column = "image_uri"
uri = true
resize = [150, 200]
method = "area"
channels = 3
background = [0, 128, 255]
encode = "jpeg"
quality = 85
max_pixels = 1000

[features.label]
type = "label"
vocabulary = ["cat", "dog \"big\""]
one_hot = true

[features.m]
type = "float32"
columns = ["m0", "m1"]

[features."odd name"]
type = "int64"
shape = "ragged"
optional = true
default = "0"

[features.text]
type = "string"
file_name = true

[features.sentence]
type = "vector"
column = "text"
encoder = "hash:512"
)";

std::string error_of(std::string_view toml) {
  const auto schema = parse_schema(toml, "a.toml");
  if (schema) return "none";
  EXPECT_EQ(schema.error().code, Code::kInvalidArgument);
  return schema.error().message;
}

TEST(Schema, ReadsWhatItSays) {
  const auto schema = parse_schema(kImages, "images.toml");
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->id, "image_uri");
  EXPECT_EQ(schema->group, "patient");
  EXPECT_EQ(schema->cells.encoding, "utf-8");
  EXPECT_THAT(schema->splits, ElementsAre(Pair("test", 0.25), Pair("train", 0.75)));
  ASSERT_THAT(schema->features, SizeIs(6));
  const FeatureDefinition& image = schema->features[0];
  EXPECT_EQ(image.name, "image");
  EXPECT_EQ(image.type, SchemaType::kImage);
  EXPECT_THAT(image.columns, ElementsAre("image_uri"));
  EXPECT_TRUE(image.is_uri);
  EXPECT_EQ(image.image.resize, (ImageSize{.width = 200, .height = 150}));
  EXPECT_EQ(image.image.method, ResizeMethod::kArea);
  EXPECT_EQ(image.image.background, (RgbColor{0, 128, 255}));
  EXPECT_EQ(image.image.output, ImageOutput::kJpeg);
  EXPECT_EQ(image.image.quality, 85);
  const FeatureDefinition& label = schema->features[1];
  EXPECT_THAT(label.vocabulary, ElementsAre("cat", "dog \"big\""));
  EXPECT_TRUE(label.one_hot);
  EXPECT_THAT(schema->features[2].columns, ElementsAre("m0", "m1"));
  EXPECT_EQ(schema->features[2].shape, (FeatureShape{FeatureShape::Kind::kFixed, 2}));
  EXPECT_EQ(schema->features[3].shape.kind, FeatureShape::Kind::kRagged);
  EXPECT_TRUE(schema->features[3].is_optional);
  EXPECT_EQ(schema->features[3].default_text, "0");
  EXPECT_EQ(schema->features[4].encoder, "hash:512");
  EXPECT_TRUE(schema->features[5].is_file_name);
  EXPECT_THAT(schema->features[4].columns, ElementsAre("text"));
}

TEST(Schema, IsWrittenAsItIsRead) {
  const auto schema = parse_schema(kImages, "images.toml");
  ASSERT_TRUE(schema);
  const std::string written = schema_to_toml(*schema);
  const auto again = parse_schema(written, "again");
  ASSERT_TRUE(again) << again.error().message << written;
  EXPECT_EQ(schema_to_toml(*again), written);
  for (const char* const kept :
       {"resize = [150, 200]", "columns = [\"m0\", \"m1\"]", "[features.\"odd name\"]",
        "vocabulary = [\"cat\", \"dog \\\"big\\\"\"]", "encoder = \"hash:512\""})
    EXPECT_THAT(written, HasSubstr(kept));
}

TEST(Schema, SaysHowCellsAreRead) {
  const std::string toml =
      "encoding = \"latin-1\"\nmissing = [\"NA\", \"-\"]\ndecimal = \",\"\n\n[features.a]\ntype = "
      "\"int64\"\n";
  const auto schema = parse_schema(toml, "a.toml");
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->cells, (CellRules{.encoding = "latin-1", .missing = {"NA", "-"}, .decimal = ','}));
  EXPECT_EQ(schema_to_toml(*schema), toml);
  EXPECT_THAT(error_of("decimal = ';'\n[features.a]\ntype = 'int64'"), HasSubstr("decimal is \";\""));
}

TEST(Schema, TextsAndBytesMayBeLists) {
  const std::string_view toml =
      "\n[features.a]\ntype = \"string\"\nshape = [3]\n"
      "\n[features.b]\ntype = \"bytes\"\nshape = \"ragged\"\n";
  const auto schema = parse_schema(toml, "lists.toml");
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->features[0].shape, (FeatureShape{FeatureShape::Kind::kFixed, 3}));
  EXPECT_EQ(schema->features[1].shape.kind, FeatureShape::Kind::kRagged);
  EXPECT_EQ(schema_to_toml(*schema), toml);
}

TEST(Schema, DoesNotDependOnOrderOrLayout) {
  const auto one = parse_schema("[features.b]\ntype='int64'\n[features.a]\ntype='label'", "one");
  const auto other = parse_schema(
      "features.a.type = \"label\"  # a\nfeatures.b = {type = \"int64\", column = \"b\"}", "other");
  ASSERT_TRUE(one && other);
  EXPECT_EQ(schema_to_toml(*one), schema_to_toml(*other));
}

TEST(Schema, ErrorsNameLineAndKeyAndWhatWasMeant) {
  EXPECT_THAT(error_of("x = = 1"), HasSubstr("a.toml, line 1: "));
  EXPECT_THAT(error_of("id = 'a'"), HasSubstr("no features"));
  EXPECT_THAT(error_of("splitt = 'a'\n[features.a]\ntype='int64'"),
              HasSubstr("line 1: splitt is not known here; did you mean split?"));
  EXPECT_THAT(error_of("[features.a]\ntype = 'imagee'"),
              HasSubstr("line 2: [features.a]: type is \"imagee\"; did you mean image?"));
  EXPECT_THAT(error_of("[features.a]\ntype = 'int64'\nresize = [1, 2]"),
              HasSubstr("line 3: [features.a]: resize is not known here"));
  EXPECT_THAT(error_of("[features.a]\ntype = 'label'\nzzzzzzzz = 1"),
              HasSubstr("; there are type, column, optional, default, vocabulary, one_hot"))
      << "each once";
  EXPECT_THAT(error_of("[features.a]\ncolumn = 'b'"), HasSubstr("type is missing"));
  EXPECT_THAT(error_of("[features.a]\ntpye = 'int64'"), HasSubstr("tpye is not a key; did you mean type?"));
  EXPECT_THAT(error_of("{\"features\": {}}"), HasSubstr("a schema is TOML"));
  EXPECT_THAT(error_of("[features.a]\ntype = \"int64\ncolumn = 'b'"),
              HasSubstr("line 2: Error while parsing string"));
  EXPECT_THAT(error_of("[features.a]\ntype = \"int64\ncolumn = 'b'"), HasSubstr("is a quote"));
  EXPECT_THAT(error_of("features.a = 3"), HasSubstr("must be a table"));
  EXPECT_THAT(error_of("encoding = 'latin1'\n[features.a]\ntype='int64'"),
              HasSubstr("did you mean latin-1?"));
}

TEST(Schema, ATextWithoutQuotesIsToldWithThem) {
  EXPECT_THAT(error_of("[features.a]\ntype = int64 # a number\n"),
              HasSubstr("a.toml, line 2: a text needs quotes: type = \"int64\""));
  EXPECT_THAT(error_of("id = true_id"), HasSubstr("a text needs quotes: id = \"true_id\""));
  EXPECT_THAT(error_of("[features.a]\nshape = [2\n"), testing::Not(HasSubstr("quotes")));
}

TEST(Schema, ValuesAreChecked) {
  const auto of_image = [](std::string_view line) {
    return error_of(concat("[features.a]\ntype = 'image'\n", line));
  };
  EXPECT_THAT(of_image("encode='png'\nresize = [150]"),
              HasSubstr("resize must be [height, width], from 1 to 65500"));
  EXPECT_THAT(of_image("encode='png'\nresize = [0, 150]"), HasSubstr("resize must be"));
  EXPECT_THAT(of_image("resize = [150, 150]"), HasSubstr("resize needs encode"));
  EXPECT_THAT(of_image("quality = 90"), HasSubstr("quality is for JPEG only"));
  EXPECT_THAT(of_image("encode='jpeg'\nquality = 101"), HasSubstr("from 1 to 100"));
  EXPECT_THAT(of_image("uri = 1"), HasSubstr("uri must be true or false"));
  EXPECT_THAT(error_of("[features.a]\ntype='label'\nvocabulary=['x','x']"), HasSubstr("has \"x\" twice"));
  EXPECT_THAT(error_of("[features.a]\ntype='float32'\nshape=[0]"), HasSubstr("shape must be"));
  EXPECT_THAT(error_of("[features.a]\ntype='float32'\nshape=[3]\ncolumns=['x','y']"),
              HasSubstr("shape must be [2]"));
  EXPECT_THAT(error_of("[features.a]\ntype='float32'\ncolumn='x'\ncolumns=['x','y']"),
              HasSubstr("exclude each other"));
  EXPECT_THAT(error_of("[features.a]\ntype='vector'"), HasSubstr("encoder is missing"));
  EXPECT_THAT(error_of("[features.a]\ntype='bytes'\nfile_name=true"),
              HasSubstr("file_name is not known here"));
  for (const char* const type : {"image", "label", "vector"})
    EXPECT_THAT(error_of(concat("[features.a]\ntype='", type, "'\nencoder='hash:8'\nshape='ragged'")),
                HasSubstr(" is not known here"));
  EXPECT_THAT(error_of("[features.a]\ntype='string'\nshape=[2]\ndefault='x'"),
              HasSubstr("default is one text, but shape asks for several"));
  EXPECT_EQ(error_of("[features.a]\ntype='string'\nshape=[1]\ndefault='x'"), "none");
  EXPECT_THAT(error_of("[features.a]\ntype='bytes'\nuri=true\nshape=[2]"),
              HasSubstr("uri and shape exclude each other"));
}

TEST(Schema, WhatIsToldOfAnImageNamesItsFeature) {
  const auto schema = parse_schema(
      "[features.a]\ntype = 'image-width'\nimage = 'photo'\n"
      "[features.photo]\ntype = 'image'\ncolumn = 'image_uri'\nuri = true\noptional = true\n",
      "test.toml");
  ASSERT_TRUE(schema);
  EXPECT_THAT(schema->features[0].columns, ElementsAre("image_uri"));
  EXPECT_TRUE(schema->features[0].is_optional);
  EXPECT_THAT(schema_to_toml(*schema),
              HasSubstr("[features.a]\ntype = \"image-width\"\nimage = \"photo\"\n"));
  EXPECT_THAT(error_of("[features.a]\ntype = 'image-width'\n"), HasSubstr("image is missing"));
  EXPECT_THAT(error_of("[features.a]\ntype = 'image-width'\nimage = 'b'\n[features.b]\ntype = 'bytes'\n"),
              HasSubstr("[features.a]: image is \"b\", which is not a feature of type image"));
}

TEST(Schema, SplitsAreSharesOfTheWhole) {
  const auto of_splits = [](std::string_view lines) {
    return error_of(concat(lines, "\n[features.a]\ntype = 'int64'\n"));
  };
  EXPECT_THAT(of_splits("[splits]\ntrain = 0.8\ntest = 0.1"), HasSubstr("[splits] sum to 0.9"));
  EXPECT_THAT(of_splits("[splits]\ntrain = 0"), HasSubstr("shares above 0"));
  EXPECT_THAT(of_splits("split = 's'\n[splits]\ntrain = 1.0"), HasSubstr("exclude each other"));
  EXPECT_THAT(of_splits("group = 's'"), HasSubstr("group needs [splits]"));
  EXPECT_EQ(of_splits("[splits]\ntrain = 1"), "none");
  EXPECT_EQ(of_splits("[splits]\na = 0.1\nb = 0.2\nc = 0.7"), "none");
}

TEST(Schema, WhatIsNoTextIsAnError) {
  EXPECT_THAT(error_of("id = 'a'\n[\x13]"), HasSubstr("line 2: a control character"));
  EXPECT_THAT(error_of("id = '\xff'"), HasSubstr("line 1: a byte that is not UTF-8"));
  EXPECT_THAT(error_of("id = 'a'\n[?]"), HasSubstr("line 2: "));
  EXPECT_THAT(error_of("id = 'a'\n\u00e9 = 1"), HasSubstr("line 2: "));
}

TEST(Schema, DeepNestingIsAnError) { EXPECT_NE(error_of(concat("a = ", std::string(100'000, '['))), "none"); }

}  // namespace
}  // namespace headrace

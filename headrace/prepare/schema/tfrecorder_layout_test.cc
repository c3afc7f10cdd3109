#include "headrace/prepare/schema/tfrecorder_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using testing::HasSubstr;

std::string laid_out(std::string_view toml) {
  auto schema = parse_schema(toml, "test.toml");
  if (!schema) return schema.error().message;
  auto made = in_tfrecorder_layout(*std::move(schema));
  return made ? schema_to_toml(*made) : made.error().message;
}

constexpr std::string_view kOfTable = R"(split = "split"

[features.image]
type = "image"
column = "image_uri"
uri = true
encode = "raw-base64"

[features.image_channels]
type = "image-channels"
image = "image"

[features.image_height]
type = "image-height"
image = "image"

[features.image_name]
type = "string"
column = "image_uri"
file_name = true

[features.image_width]
type = "image-width"
image = "image"

[features.label]
type = "label"

[features.split]
type = "string"
)";

TEST(TfrecorderLayout, TellsNameSizeAndSplitOfAnImage) {
  const std::string made = laid_out(R"(
split = "split"
[features.photo]
type = "image"
column = "image_uri"
uri = true
encode = "jpeg"
quality = 70
[features.label]
type = "label"
)");
  EXPECT_EQ(made, kOfTable);
}

TEST(TfrecorderLayout, IsTheSameOfWhatIsLaidOutSo) { EXPECT_EQ(laid_out(kOfTable), kOfTable); }

TEST(TfrecorderLayout, NamesImagesOfFoldersByTheirIds) {
  const std::string made = laid_out(
      "split = \"split\"\n[features.id]\ntype = \"string\"\n[features.image]\ntype = \"image\"\nresize = [2, "
      "3]\n"
      "encode = \"png\"\n");
  EXPECT_THAT(made, HasSubstr("[features.image_name]\ntype = \"string\"\ncolumn = \"id\"\n"));
  EXPECT_THAT(made, HasSubstr("[features.split]\ntype = \"string\"\ndefault = \"TRAIN\"\n"));
  EXPECT_THAT(made, HasSubstr("resize = [2, 3]\nencode = \"raw-base64\"\n"));
  EXPECT_THAT(made, testing::Not(HasSubstr("[features.id]")));
}

TEST(TfrecorderLayout, LeavesRecordsWithoutImagesAsTheyAre) {
  constexpr std::string_view kNumbers = "\n[features.n]\ntype = \"int64\"\n";
  EXPECT_EQ(laid_out(kNumbers), kNumbers);
}

TEST(TfrecorderLayout, RefusesSeveralImagesAndATakenName) {
  EXPECT_THAT(laid_out("[features.a]\ntype = \"image\"\n[features.b]\ntype = \"image\"\n"),
              HasSubstr("for records with one image; the schema has a and b"));
  EXPECT_THAT(laid_out("[features.a]\ntype = \"image\"\n[features.image]\ntype = \"int64\"\n"),
              HasSubstr("another feature has that name"));
}

}  // namespace
}  // namespace headrace

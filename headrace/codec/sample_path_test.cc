#include "headrace/codec/sample_path.h"

#include <gtest/gtest.h>

#include <string>

#include "headrace/base/text.h"

namespace headrace {
namespace {

std::string split_text(std::string_view path) {
  const auto name = split_sample_path(path);
  return name ? concat(name->key, " | ", name->field) : "";
}

// The expected values come from webdataset 1.0.2: its base_plus_ext, skip_meta and meta_prefix.
TEST(SplitSamplePath, KeyAndFieldAreAsInWebdataset) {
  EXPECT_EQ(split_text("0001.jpg"), "0001 | jpg");
  EXPECT_EQ(split_text("a/b/0001.left.PNG"), "a/b/0001 | left.PNG");
  EXPECT_EQ(split_text("v1.2/0001.jpg"), "v1.2/0001 | jpg");
  EXPECT_EQ(split_text("/abs/0001.jpg"), "/abs/0001 | jpg");
  EXPECT_EQ(split_text("../0001.jpg"), "../0001 | jpg");
  EXPECT_EQ(split_text("0001."), "0001 | ");
  EXPECT_EQ(split_text("__key.jpg"), "__key | jpg");
  EXPECT_EQ(split_text("a/__index__.json"), "a/__index__ | json");
  EXPECT_EQ(split_text("__dir__x/a.json"), "__dir__x/a | json");
  for (const std::string_view path :
       {"", "README", "v1.2/README", ".hidden", "__index__", "__meta__/a.jpg", "____"})
    EXPECT_EQ(split_text(path), "") << path;
}

TEST(SplitSamplePath, DotsInFrontAreNoPartOfAKey) {
  EXPECT_EQ(split_text("./0001.jpg"), "0001 | jpg");
  EXPECT_EQ(split_text("././a/0001.jpg"), "a/0001 | jpg");
  EXPECT_EQ(split_text("./__meta__/a.jpg"), "");
  EXPECT_EQ(split_text("a/._0001.jpg"), "") << "what macOS leaves";
}

TEST(SampleNumber, FieldsAndTextsAreAsInWebdataset) {
  for (const std::string_view field : {"cls", "cls2", "index", "inx", "id", "left.id", ".cls"})
    EXPECT_TRUE(is_sample_number_field(field)) << field;
  for (const std::string_view field : {"", "jpg", "cls3", "id.txt", "xcls"})
    EXPECT_FALSE(is_sample_number_field(field)) << field;
  EXPECT_EQ(parse_sample_number(as_bytes(" +7\n")), 7);
  EXPECT_EQ(parse_sample_number(as_bytes("-9223372036854775808")), INT64_MIN);
  for (const std::string_view text : {"", " ", "7.0", "0x7", "+-7", "9223372036854775808", "7 8"})
    EXPECT_EQ(parse_sample_number(as_bytes(text)), std::nullopt) << text;
  EXPECT_EQ(parse_sample_number(as_bytes(std::string(64, ' ') + "7")), std::nullopt);
}

}  // namespace
}  // namespace headrace

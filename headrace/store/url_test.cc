#include "headrace/store/url.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(Url, IsReadFromItsForms) {
  EXPECT_EQ(*parse_url("s3://bucket/a/b/", "/here"), (Url{"s3", "bucket", "a/b"}));
  EXPECT_EQ(*parse_url("S3://bucket", "/here"), (Url{"s3", "bucket", ""}));
  EXPECT_EQ(*parse_url("file:///data/a", "/here"), (Url{"file", "", "data/a"}));
  EXPECT_EQ(*parse_url("data/../a", "/here"), (Url{"file", "", "here/a"}));
  EXPECT_EQ(*parse_url("/data/a/", "/here"), (Url{"file", "", "data/a"}));
  EXPECT_EQ(parse_url("s3://bucket/a", "/")->text(), "s3://bucket/a");
  EXPECT_EQ(parse_url("/data", "/")->text(), "file:///data");
}

TEST(Url, SaysWhatIsWrong) {
  for (const char* wrong : {"", "s3://", "s3:///key", "file://host/a", "s 3://bucket/a"})
    EXPECT_FALSE(parse_url(wrong, "/")) << wrong;
}

TEST(Url, NeverRepeatsASecret) {
  const auto url = parse_url("s3://key:topsecret@bucket/a", "/");
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().message.find("topsecret"), std::string::npos);
}

TEST(Url, KeysAreJoinedAndTakenApart) {
  EXPECT_EQ(join_key("a", "b"), "a/b");
  EXPECT_EQ(join_key("", "b"), "b");
  EXPECT_EQ(folder_prefix("a/b"), "a/b/");
  EXPECT_EQ(folder_prefix(""), "");
  EXPECT_EQ(parent_key("a/b/c"), "a/b");
  EXPECT_EQ(parent_key("a"), "");
  EXPECT_EQ(last_segment("a/b"), "b");
}

}  // namespace
}  // namespace headrace

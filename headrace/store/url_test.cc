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

TEST(Url, OfADriverHasTheFormThatTheDriverSays) {
  const UrlForm open{.may_lack_authority = true, .takes_query = true};
  EXPECT_EQ(*parse_url("igfs:///a/b", "/", open), (Url{"igfs", "", "a/b"}));
  EXPECT_EQ(parse_url("igfs:///a/b", "/", open)->text(), "igfs:///a/b");
  EXPECT_EQ(parse_url("igfs:///", "/", open)->text(), "igfs:///");
  EXPECT_EQ(*parse_url("IGFS://Host:10500/a", "/", open), (Url{"igfs", "Host:10500", "a"}));
  EXPECT_EQ(*parse_url("x-y://host/a?b=/c?d", "/", open), (Url{"x-y", "host", "a", "b=/c?d"}));
  EXPECT_EQ(*parse_url("x-y://host?b=c", "/", open), (Url{"x-y", "host", "", "b=c"}));
  EXPECT_EQ(parse_url("x-y://host/a?b=c", "/", open)->text(), "x-y://host/a?b=c");
  for (const char* wrong : {"igfs://", "igfs://?a", "x_y://host/a"})
    EXPECT_FALSE(parse_url(wrong, "/", open)) << wrong;
}

TEST(Url, AKeyMayHoldAQuestionMarkWhereNoQueryIsTaken) {
  EXPECT_EQ(*parse_url("s3://bucket/a?b", "/"), (Url{"s3", "bucket", "a?b"}));
  EXPECT_EQ(*parse_url("/data/a?b", "/", {.takes_query = true}), (Url{"file", "", "data/a?b"}));
  EXPECT_EQ(*parse_url("file:///a?b", "/", {.takes_query = true}), (Url{"file", "", "a?b"}));
}

TEST(Url, NeverRepeatsASecret) {
  const auto url = parse_url("s3://key:topsecret@bucket/a", "/");
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().message.find("topsecret"), std::string::npos);
  for (const char* text : {"mem://?password=topsecret", "s3_x://key:topsecret@bucket/a"}) {
    const auto other = parse_url(text, "/", {.takes_query = true});
    ASSERT_FALSE(other) << text;
    EXPECT_EQ(other.error().message.find("topsecret"), std::string::npos) << other.error().message;
  }
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

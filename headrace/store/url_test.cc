#include "headrace/store/url.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(Url, AMisspeltOneIsNoPath) {
  const std::vector<std::string> schemes = {"file", "memory", "s3"};
  const auto told = [&](std::string_view path) {
    const Status status = check_not_misspelt_url(path, schemes);
    return status ? std::string("a path") : status.error().message;
  };
  EXPECT_EQ(told("s3:/b/o"),
            "\"s3:/b/o\" is a path of this machine, but looks like a s3:// URL: write s3://b/o, or put ./ "
            "before it if a path is meant");
  for (const char* text : {"s3//b/o", "s3:b/o", "S3:/b/o", "s3:///b/o", "s3:"})
    EXPECT_NE(told(text).find(std::string_view(text) == "s3:" ? "write s3://," : "write s3://b/o,"),
              std::string::npos)
        << told(text);
  for (const char* text : {"file:/a/b", "file//a/b"})
    EXPECT_NE(told(text).find("write file:///a/b,"), std::string::npos) << told(text);
  for (const char* text : {"s3:/user:topsecret@b/o", "s3:/b/o?topsecret"})
    EXPECT_EQ(told(text).find("topsecret"), std::string::npos) << told(text);
  for (const char* path : {"s3", "s3/b/o", "s3a:/b", "s34", "./s3:/b/o", "/s3:/b", "a/s3:/b", "a/s3//b",
                           "data 12:30/x", "x:y", "files//a", ""})
    EXPECT_EQ(told(path), "a path") << path;
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

TEST(Url, SaysWhyATextIsNone) {
  const auto why = [](std::string_view text, const UrlForm& form = {}) {
    const auto url = parse_url(text, "/", form);
    EXPECT_FALSE(url) << text;
    return url ? std::string() : url.error().message;
  };
  EXPECT_EQ(why(""), "\"\" is not a store URL: it is empty");
  EXPECT_EQ(why("s3://"), "\"s3://\" is not a store URL: it names no bucket or host");
  EXPECT_EQ(why("s3:///key?a=b"), "\"s3:///key\" is not a store URL: it names no bucket or host");
  EXPECT_EQ(parse_url("s3://", "/").error().code, Code::kInvalidArgument);
  EXPECT_EQ(parse_url("s3://u@bucket", "/").error().code, Code::kInvalidArgument);
  EXPECT_EQ(why("file://host/a"),
            "\"file://host/a\" is not a store URL: file:// takes an absolute path: file:///folder");
  EXPECT_EQ(
      why("s_3://u:p@bucket/a"),
      "\"bucket/a\" is not a store URL: the scheme before :// does not begin with a letter, or contains "
      "characters other than letters, digits, + and -");
  EXPECT_EQ(why("://b/a"), why("_://b/a").replace(1, 1, ""));
  EXPECT_EQ(why("s3://u:p@bucket/a"),
            "a s3:// URL contains a user or password before '@'; remove it and give credentials in the "
            "environment instead");
}

TEST(Url, ASchemeBeginsWithALetter) {
  for (const char* wrong : {"3s://b/a", "-s://b/a", "+s://b/a", "://b/a"})
    EXPECT_FALSE(parse_url(wrong, "/")) << wrong;
  EXPECT_EQ(*parse_url("Ignite-SQL://host:10800/?query=SELECT%201", "/", {.takes_query = true}),
            (Url{"ignite-sql", "host:10800", "", "query=SELECT%201"}));
}

TEST(Url, ControlCharactersAreInKeysAlone) {
  const UrlForm open{.may_lack_authority = true, .takes_query = true};
  for (const char* wrong : {"x://a\nb/c", "x://a/b?c\r\nd", "x://a\x7f", "x:///a?\t"}) {
    const auto url = parse_url(wrong, "/", open);
    ASSERT_FALSE(url) << wrong;
    EXPECT_EQ(url.error().message.find_first_of("\r\n\t"), std::string::npos) << url.error().message;
  }
  EXPECT_EQ(*parse_url("s3://bucket/a\tb", "/"), (Url{"s3", "bucket", "a\tb"}));
}

TEST(Url, TheNameOfAStoreIsPartOfItsPlaceWhereASchemeSaysSo) {
  const UrlForm form{.has_bucket_in_path = true};
  EXPECT_EQ(*parse_url("db://host:1/name/a/b", "/", form), (Url{"db", "host:1/name", "a/b"}));
  EXPECT_EQ(*parse_url("db://host//name//a/", "/", form), (Url{"db", "host/name", "a"}));
  EXPECT_EQ(*parse_url("db://host/name", "/", form), (Url{"db", "host/name", ""}));
  EXPECT_EQ(parse_url("db://host/name/a", "/", form)->text(), "db://host/name/a");
  const auto nameless = parse_url("db://host/", "/", form);
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().message,
            "\"db://host/\" is not a store URL: a name is missing after the host: db://host/name");
  EXPECT_FALSE(parse_url("db://host/na\nme/a", "/", form));
}

TEST(Url, KeepsWhatItsSchemeAllowsAndNoSlashAtTheEnds) {
  EXPECT_EQ(*parse_url("file://localhost/a", "/"), (Url{"file", "", "a"}));
  EXPECT_EQ(*parse_url("file:///a/../b//c/", "/"), (Url{"file", "", "b/c"}));
  EXPECT_EQ(*parse_url("file:///", "/"), (Url{"file", "", ""}));
  EXPECT_EQ(*parse_url("s3://bucket//a//", "/"), (Url{"s3", "bucket", "a"}));
  EXPECT_EQ(*parse_url("s3://bucket/a@b", "/"), (Url{"s3", "bucket", "a@b"}));
  EXPECT_EQ(*parse_url("s3+x-1://bucket/", "/"), (Url{"s3+x-1", "bucket", ""}));
  EXPECT_FALSE(parse_url("igfs:///a", "/", {.may_lack_authority = false}));
  EXPECT_FALSE(parse_url("igfs://?a/b", "/", {.may_lack_authority = true, .takes_query = true}));
  EXPECT_EQ((Url{"s3", "bucket", ""}).text(), "s3://bucket");
  EXPECT_EQ((Url{"file", "", ""}).text(), "file:///");
  EXPECT_EQ((Url{"x", "", "a", "q"}).text(), "x:///a?q");
  EXPECT_EQ(scheme_of("S3://a"), "s3");
  EXPECT_EQ(scheme_of("a/b"), "");
  EXPECT_EQ(join_key("a", ""), "a");
  EXPECT_EQ(join_key("", ""), "");
  EXPECT_EQ(parent_key(""), "");
  EXPECT_EQ(last_segment("b"), "b");
}

}  // namespace
}  // namespace headrace

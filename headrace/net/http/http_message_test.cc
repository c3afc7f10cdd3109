#include "headrace/net/http/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(HttpEndpoint, IsReadFromWhatUsersWrite) {
  const auto parsed = [](std::string_view text, bool tls = true) { return *parse_http_endpoint(text, tls); };
  EXPECT_EQ(parsed("http://127.0.0.1:9000"), (HttpEndpoint{false, "127.0.0.1", 9000, ""}));
  EXPECT_EQ(parsed("https://Store.Example/"), (HttpEndpoint{true, "store.example", 443, ""}));
  EXPECT_EQ(parsed("minio:9000", false), (HttpEndpoint{false, "minio", 9000, ""}));
  EXPECT_EQ(parsed("minio", true), (HttpEndpoint{true, "minio", 443, ""}));
  EXPECT_EQ(parsed("https://[::1]:8443/storage/s3/"), (HttpEndpoint{true, "::1", 8443, "/storage/s3"}));
  EXPECT_EQ(parsed("https://[::1]:8443/storage/s3/").text(), "https://[::1]:8443/storage/s3");
  EXPECT_EQ(parsed("http://host:80").host_field(), "host");
}

TEST(HttpEndpoint, RefusesWhatIsNone) {
  for (const char* wrong : {"", "ftp://x", "http://", "http://x:0", "http://x:65536",
                            "http://x:", "http://x:80x", "http://[::1", "http://[[]", "http://a]",
                            "http://a;b", "http://x?y", "http://x y", "http://x/\n", "http://\xc3\xa9"}) {
    EXPECT_EQ(parse_http_endpoint(wrong).error().code, Code::kInvalidArgument) << wrong;
  }
}

TEST(HttpEndpoint, NeverRepeatsAPassword) {
  const auto refused = parse_http_endpoint("http://user:canary-secret@host");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::Not(testing::HasSubstr("canary")));
}

TEST(HttpEndpoint, KnowsThisMachine) {
  for (const char* here : {"localhost", "127.0.0.1", "127.8.8.8", "[::1]", "a.localhost"}) {
    EXPECT_TRUE(parse_http_endpoint(here)->is_loopback()) << here;
  }
  for (const char* elsewhere : {"127.evil.example", "localhost.example", "10.0.0.1"}) {
    EXPECT_FALSE(parse_http_endpoint(elsewhere)->is_loopback()) << elsewhere;
  }
}

TEST(HttpDate, IsReadInItsOneCurrentForm) {
  const auto time = parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT");  // the example of RFC 9110
  ASSERT_TRUE(time);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(*time), 784111777);
  for (const char* wrong :
       {"", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nox 1994 08:49:37 GMT",
        "Sun, 36 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 28:49:37 GMT", "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Nov 2201 08:49:37 GMT", "Sun, 06 Nov 9999 08:49:37 GMT"}) {
    EXPECT_EQ(parse_http_date(wrong), std::nullopt) << wrong;
  }
}

TEST(HttpHeaders, AreFoundInAnyCase) {
  const HttpHeaders headers = {{"ETag", "1"}, {"etag", "2"}};
  EXPECT_EQ(find_header(headers, "ETAG"), "1");
  EXPECT_EQ(find_header(headers, "ETa"), std::nullopt);
}

TEST(HttpEndpoint, PortsAreWrittenUnlessTheyAreTheSchemes) {
  const auto host_field = [](std::string_view text) { return parse_http_endpoint(text)->host_field(); };
  EXPECT_EQ(host_field("http://h:443"), "h:443");
  EXPECT_EQ(host_field("https://h:80"), "h:80");
  EXPECT_EQ(host_field("https://h:443"), "h");
  EXPECT_EQ(host_field("http://h:1"), "h:1");
  EXPECT_EQ(host_field("http://h:65535"), "h:65535");
  EXPECT_EQ(parse_http_endpoint("http://h")->port, 80);
  EXPECT_EQ(parse_http_endpoint("http://h/!~//")->base_path, "/!~");
  EXPECT_EQ(parse_http_endpoint("HTTP://H/A")->text(), "http://h/A");
  EXPECT_EQ(parse_http_endpoint("http://[FD00::7]")->text(), "http://[fd00::7]");
}

TEST(HttpEndpoint, SaysWhyItIsNone) {
  const auto message = [](std::string_view text) { return parse_http_endpoint(text).error().message; };
  using testing::HasSubstr;
  EXPECT_THAT(message("ftp://x"), HasSubstr("\"ftp://x\" is not an endpoint"));
  EXPECT_THAT(message("ftp://x"), HasSubstr("the scheme is neither http nor https"));
  for (const char* wrong : {"http://x?y", "http://x#y", "http://x y", "http://x\\y", "http://x\x7f"})
    EXPECT_THAT(message(wrong), HasSubstr("it contains a query, fragment, space or non-ASCII character"));
  EXPECT_THAT(message("http://[::1"), HasSubstr("a '[' without ']'"));
  EXPECT_THAT(message("http://:80"), HasSubstr("it names no host"));
  EXPECT_THAT(message("http://[]"), HasSubstr("it names no host"));
  EXPECT_THAT(message("http://[g]"), HasSubstr("there is no IPv6 address between the brackets"));
  EXPECT_THAT(message("http://a;b"), HasSubstr("the host contains characters other than letters"));
  for (const char* wrong : {"http://h:0", "http://h:", "http://[::1]80", "http://[::1]x"})
    EXPECT_THAT(message(wrong), HasSubstr("the host is not followed by a port from 1 to 65535")) << wrong;
  EXPECT_THAT(message("http://u@h"), HasSubstr("an endpoint contains a user or password"));
}

TEST(HttpDate, HoldsTheLimitsOfItsNumbers) {
  for (const char* right :
       {"Sun, 06 Nov 1994 23:59:60 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Wed, 31 Dec 2200 09:09:09 GMT"}) {
    EXPECT_TRUE(parse_http_date(right)) << right;
  }
  EXPECT_EQ(std::chrono::system_clock::to_time_t(*parse_http_date("Thu, 01 Jan 1970 01:02:03 GMT")), 3723);
  for (const char* wrong :
       {"Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 00:60:00 GMT", "Sun, 06 Nov 1994 00:00:61 GMT",
        "Sun, 06 anF 1994 00:00:00 GMT", "Sun, 31 Nov 1994 00:00:00 GMT", "Sun, 06 Nov 1994 00:00:0: GMT",
        "Sun, 06 Nov 1994 00:00:0/ GMT", "Sun, 06 Nov 1994 00:00:00 CET"}) {
    EXPECT_FALSE(parse_http_date(wrong)) << wrong;
  }
}

TEST(HttpHeaders, OnlyLettersHaveTwoCases) {
  const HttpHeaders headers = {{"A[Z@", "1"}};
  EXPECT_EQ(find_header(headers, "a[z@"), "1");
  EXPECT_EQ(find_header(headers, "a{z@"), std::nullopt);
  EXPECT_EQ(find_header(headers, "a[z`"), std::nullopt);
}

}  // namespace
}  // namespace headrace

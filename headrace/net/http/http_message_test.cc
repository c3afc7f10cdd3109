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

}  // namespace
}  // namespace headrace

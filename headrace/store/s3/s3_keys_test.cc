// Keys that expire, are refused, or cannot be obtained while requests need them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "headrace/base/text.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/store/s3/multipart.h"
#include "headrace/store/s3/s3_store.h"
#include "headrace/store/s3/s3_unfinished.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Keys that are numbered, and refused with `code` up to the number `last_bad`.
struct RefusedKeys {
  RefusedKeys(const std::string& code, int last_bad)
      : server([this, code, last_bad](const TestHttpRequest& request) {
          ++requests;
          const std::string token = request.header("x-amz-security-token");
          return *parse_number<int>(token) <= last_bad
                     ? test_reply(400, concat("<Error><Code>", code, "</Code></Error>"))
                     : test_reply(200, "", "ETag: \"v\"\r\n");
        }) {
    S3Options options{.endpoint = server.endpoint(), .now = Environment{}.now};
    options.credentials = std::make_shared<CredentialsProvider>(
        CredentialsSource{.name = "the test",
                          .fetch = [this](const FetchLimits&) -> Result<S3Credentials> {
                            if (failure) return *failure;
                            return S3Credentials{"id", "canary-secret", concat(++fetches)};
                          }},
        // Each call of the clock is a minute later.
        [this] { return std::chrono::system_clock::now() + std::chrono::minutes(++minutes); });
    store = open_s3_store("bucket", options);
  }
  int fetches = 0;
  std::atomic<int> minutes = 0;
  std::atomic<int> requests = 0;
  std::optional<Error> failure;
  HttpTestServer server;
  std::unique_ptr<Store> store;
};

TEST(S3Keys, ThatHaveExpiredAreHadAnewAndTheRequestRepeated) {
  for (const char* code : {"ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId"}) {
    RefusedKeys keys(code, 1);
    EXPECT_EQ(keys.fetches, 0) << "opening a store asks nobody";
    ASSERT_TRUE(write_text(*keys.store, "key", "text")) << code;
    ASSERT_TRUE(write_text(*keys.store, "key", "text"));
    EXPECT_EQ(keys.fetches, 2);
    EXPECT_EQ(keys.requests, 3);
  }
}

TEST(S3Keys, ThatAreRefusedTwiceAreReported) {
  RefusedKeys keys("ExpiredToken", 99);
  const Error error = write_text(*keys.store, "key", "text").error();
  EXPECT_EQ(error.code, Code::kUnauthenticated);
  EXPECT_THAT(error.message, AllOf(HasSubstr("the test"), HasSubstr("expired")));
  EXPECT_EQ(keys.requests, 2);
}

TEST(S3Keys, AreNotFetchedToCleanUp) {
  HttpTestServer server([](const TestHttpRequest& request) {
    return request.method == "POST" ? test_reply(200,
                                                 "<InitiateMultipartUploadResult><UploadId>1</UploadId>"
                                                 "</InitiateMultipartUploadResult>")
                                    : test_reply(204, "", "ETag: \"v\"\r\n");
  });
  auto now = std::chrono::system_clock::now();
  int fetches = 0;
  S3Options options{.endpoint = server.endpoint(), .now = Environment{}.now};
  const auto fetch = [&](const FetchLimits&) -> Result<S3Credentials> {
    ++fetches;
    return S3Credentials{"id", "canary-secret", "token", now + std::chrono::hours(1)};
  };
  options.credentials = std::make_shared<CredentialsProvider>(
      CredentialsSource{.name = "the test", .fetch = fetch}, [&] { return now; });
  S3Client client("bucket", options);
  auto upload = *MultipartUpload::start(client, "key", {}, true);
  ASSERT_TRUE(upload->send_part(0, as_bytes("text")));
  now += std::chrono::hours(2);
  upload.reset();
  EXPECT_EQ(fetches, 1);
}

TEST(S3Keys, WhoCleansUpAsksNoLongerThanTheTimeForAllOfIt) {
  std::atomic<int> requests = 0;
  HttpTestServer server([&](const TestHttpRequest&) { return ++requests, test_reply(503); });
  S3Client client("bucket", {.endpoint = server.endpoint(),
                             .backoff = {std::chrono::milliseconds(1), std::chrono::milliseconds(1)}});
  EXPECT_FALSE(abort_upload(client, "key", "1", {}, std::chrono::steady_clock::now()));
  EXPECT_LE(requests, 1) << "none is repeated";
}

TEST(S3Keys, ThatCannotBeHadFailTheCallsThatNeedThem) {
  RefusedKeys keys("ExpiredToken", 0);
  keys.failure = Error{Code::kUnauthenticated, "may not"};
  EXPECT_THAT(write_text(*keys.store, "key", "text").error().message,
              AllOf(HasSubstr("s3://bucket/key"), HasSubstr("the test"), HasSubstr("may not")));
  Bytes target(64 << 20);  // eight ranges in flight at once
  EXPECT_EQ(keys.store->read_into("key", target, {.if_version = Version{"v"}}).error().code,
            Code::kUnauthenticated);
  EXPECT_EQ(keys.requests, 0);
  keys.failure.reset();
  EXPECT_TRUE(write_text(*keys.store, "key", "text"));
}

}  // namespace
}  // namespace headrace

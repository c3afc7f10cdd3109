#include "headrace/store/s3/presign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/text.h"
#include "headrace/store/s3/credentials/test_credentials.h"

namespace headrace {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

S3Options options_of_2013() {
  S3Options options;
  options.credentials =
      fixed_credentials({"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"});
  options.now = [] { return system_clock::from_time_t(1369353600); };
  return options;
}

TEST(Presign, MakesAUrlOfTheObjectsAddress) {
  S3Options options = options_of_2013();
  const auto made = presign("bucket", "a b/ü", options, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->url, AllOf(StartsWith("https://bucket.s3.us-east-1.amazonaws.com/a%20b/%C3%BC?X-Amz-"),
                               HasSubstr("&X-Amz-Expires=3600&"), HasSubstr("&X-Amz-Signature=")));
  EXPECT_EQ(made->usable_until, options.now() + seconds(3'600));
  options.endpoint = *parse_http_endpoint("http://minio:9000/base");
  EXPECT_THAT(presign("bucket", "key", options, {})->url, StartsWith("http://minio:9000/base/bucket/key?"));
}

TEST(Presign, DependsOnTheMethod) {
  const S3Options options = options_of_2013();
  EXPECT_NE(presign("bucket", "key", options, {.method = "PUT"})->url,
            presign("bucket", "key", options, {.method = "GET"})->url);
}

TEST(Presign, WithTemporaryKeysCarriesTheirTokenAndEndsWithThem) {
  S3Options options = options_of_2013();
  const auto end = options.now() + seconds(60);
  options.credentials = fixed_credentials({"id", "secret", "tok/en", end});
  const auto made = presign("bucket", "key", options, {});
  EXPECT_THAT(made->url, HasSubstr("&X-Amz-Security-Token=tok%2Fen&"));
  EXPECT_EQ(made->usable_until, end);
}

TEST(Presign, SaysWhoPays) {
  S3Options options = options_of_2013();
  options.requester_pays = true;
  EXPECT_THAT(presign("bucket", "key", options, {})->url, HasSubstr("&x-amz-request-payer=requester&"));
}

TEST(Presign, RefusesWhatNoUrlCanDo) {
  S3Options options = options_of_2013();
  EXPECT_EQ(presign("bucket", "", options, {}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(presign("bucket", "key", options, {.lifetime = seconds(0)}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(presign("bucket", "key", options, {.lifetime = kLongestPresigned + seconds(1)}).error().code,
            Code::kInvalidArgument);
  options.encryption = *customer_key_encryption(Bytes(32));
  EXPECT_EQ(presign("bucket", "key", options, {}).error().code, Code::kFailedPrecondition);
  options.encryption = ServerKeyEncryption{"aws:kms"};
  const Error put = presign("bucket", "key", options, {.method = "PUT"}).error();
  EXPECT_EQ(put.code, Code::kFailedPrecondition);
  EXPECT_THAT(put.message, HasSubstr("bucket's default encryption"));
  EXPECT_TRUE(presign("bucket", "key", options, {.method = "GET"}));
  options = options_of_2013();
  options.credentials.reset();
  EXPECT_EQ(presign("bucket", "key", options, {}).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace headrace

#include "headrace/store/s3/credentials/sigv4.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

constexpr std::string_view kEmptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string signature_of(const std::string& authorization) {
  return authorization.substr(authorization.find("Signature=") + 10);
}

// Amazon S3 API Reference, "Signature Calculations for the Authorization Header", its four examples.
class SigV4S3Examples : public testing::Test {
 protected:
  std::string sign(std::string_view method, std::string_view path, const QueryParameters& query,
                   HttpHeaders headers, std::string_view digest) {
    headers.push_back({"Host", "examplebucket.s3.amazonaws.com"});
    headers.push_back({"x-amz-date", "20130524T000000Z"});
    headers.push_back({"x-amz-content-sha256", std::string(digest)});
    return signer.authorization(keys, {method, path, canonical_query(query), headers, digest}, "us-east-1",
                                "20130524T000000Z");
  }
  const S3Credentials keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  SigV4Signer signer;
};

TEST_F(SigV4S3Examples, GetObject) {
  EXPECT_EQ(sign("GET", "/test.txt", {}, {{"Range", "bytes=0-9"}}, kEmptyDigest),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(SigV4S3Examples, PutObject) {
  EXPECT_EQ(signature_of(sign(
                "PUT", "/test%24file.text", {},
                {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_F(SigV4S3Examples, GetBucketLifecycle) {
  EXPECT_EQ(signature_of(sign("GET", "/", {{"lifecycle", ""}}, {}, kEmptyDigest)),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST_F(SigV4S3Examples, ListObjects) {
  EXPECT_EQ(signature_of(sign("GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}, kEmptyDigest)),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

// The suite that AWS published for signers ("aws-sig-v4-test-suite"): get-vanilla,
// get-vanilla-query-order-key-case, post-vanilla, get-header-value-trim.
TEST(SigV4Suite, AgreesWithItsVectors) {
  const S3Credentials keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
  SigV4Signer signer("service");
  const auto sign = [&](std::string_view method, const QueryParameters& query, HttpHeaders headers = {}) {
    headers.push_back({"Host", "example.amazonaws.com"});
    headers.push_back({"X-Amz-Date", "20150830T123600Z"});
    return signature_of(signer.authorization(
        keys, {method, "/", canonical_query(query), headers, kEmptyDigest}, "us-east-1", "20150830T123600Z"));
  };
  EXPECT_EQ(sign("GET", {}), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(sign("GET", {{"Param2", "value2"}, {"Param1", "value1"}}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(sign("POST", {}), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(sign("GET", {}, {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}),
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
}

// Amazon S3 API Reference, "Authenticating Requests: Using Query Parameters", its example.
TEST_F(SigV4S3Examples, PresignedGet) {
  const HttpHeaders headers = {{"Host", "examplebucket.s3.amazonaws.com"}};
  const std::string query = signer.presigned_query(
      keys, "GET", "/test.txt", {}, headers, std::chrono::seconds(86'400), "us-east-1", "20130524T000000Z");
  EXPECT_EQ(query,
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2F"
            "s3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&"
            "X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

TEST(SigV4, PresignedQueriesHoldTheToken) {
  const HttpHeaders headers = {{"Host", "h"}};
  SigV4Signer signer;
  const std::string query =
      signer.presigned_query({"id", "secret", "to/ken"}, "GET", "/", {{"a", "b"}}, headers,
                             std::chrono::seconds(1), "us-east-1", "20130524T000000Z");
  EXPECT_NE(query.find("&X-Amz-Security-Token=to%2Fken&"), std::string::npos);
  EXPECT_NE(query.find("&a=b&X-Amz-Signature="), std::string::npos);
}

TEST(SigV4, KeepsItsKeyApartBySecretDayAndRegion) {
  SigV4Signer signer;
  S3Credentials keys{"id", "secret"};
  const HttpHeaders headers = {{"Host", "h"}};
  const auto sign = [&](std::string_view region, std::string_view date) {
    return signature_of(signer.authorization(keys, {"GET", "/", "", headers, kEmptyDigest}, region, date));
  };
  const std::string first = sign("us-east-1", "20260101T000000Z");
  EXPECT_NE(sign("eu-west-1", "20260101T000000Z"), first);
  EXPECT_NE(sign("us-east-1", "20260102T000000Z"), first);
  EXPECT_EQ(sign("us-east-1", "20260101T000000Z"), first);
  keys.secret_access_key = "another";
  EXPECT_NE(sign("us-east-1", "20260101T000000Z"), first);
}

TEST(SigV4, QueriesAreSortedAfterEncoding) {
  EXPECT_EQ(canonical_query({{"b", "x y"}, {"a", "~/é"}, {"a", "+"}, {"uploads", ""}}),
            "a=%2B&a=~%2F%C3%A9&b=x%20y&uploads=");
}

TEST(SigV4, DatesAreWrittenInBasicForm) {
  EXPECT_EQ(format_amz_date(std::chrono::system_clock::from_time_t(1369353600)), "20130524T000000Z");
}

}  // namespace
}  // namespace headrace

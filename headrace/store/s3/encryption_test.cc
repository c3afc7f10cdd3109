#include "headrace/store/s3/encryption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";  // bytes 0 to 31

Result<S3Encryption> encryption_with(std::map<std::string, std::string, std::less<>> variables) {
  Environment environment;
  environment.variables = std::move(variables);
  return encryption_from(environment);
}

std::vector<std::string> lines(const S3Encryption& encryption, S3Operation operation) {
  std::vector<std::string> out;
  for (const HttpHeader& header : encryption_headers(encryption, operation))
    out.push_back(concat(header.name, ": ", header.value));
  return out;
}

TEST(S3Encryption, ByTheServersKeysIsAskedForWhereAnObjectIsMade) {
  const auto kms = encryption_with({{"HEADRACE_S3_SSE", "aws:kms"}, {"HEADRACE_S3_SSE_KMS_KEY_ID", "key"}});
  for (const S3Operation operation :
       {S3Operation::kWrites, S3Operation::kStartsUpload, S3Operation::kCopies}) {
    EXPECT_THAT(lines(*kms, operation), ElementsAre("x-amz-server-side-encryption: aws:kms",
                                                    "x-amz-server-side-encryption-aws-kms-key-id: key"));
  }
  for (const S3Operation operation : {S3Operation::kReads, S3Operation::kSendsPart, S3Operation::kCompletes,
                                      S3Operation::kCopiesIntoPart, S3Operation::kOther})
    EXPECT_THAT(lines(*kms, operation), IsEmpty());
  EXPECT_THAT(lines(*encryption_with({{"HEADRACE_S3_SSE", "AES256"}}), S3Operation::kWrites),
              ElementsAre("x-amz-server-side-encryption: AES256"));
  EXPECT_THAT(lines(*encryption_with({}), S3Operation::kWrites), IsEmpty());
}

TEST(S3Encryption, ByTheCustomersKeyIsAskedForWhereverAnObjectIsTouched) {
  const auto ours =
      encryption_with({{"HEADRACE_S3_SSE", "customer"}, {"HEADRACE_S3_SSE_CUSTOMER_KEY", kKey}});
  ASSERT_TRUE(ours) << ours.error().message;
  const std::string prefix = "x-amz-server-side-encryption-customer-", md5 = "tJ7cY/V4s5HWyM7pRWW5HA==";
  for (const S3Operation operation : {S3Operation::kReads, S3Operation::kWrites, S3Operation::kStartsUpload,
                                      S3Operation::kSendsPart, S3Operation::kCompletes}) {
    EXPECT_EQ(lines(*ours, operation).size(), 3U);
    EXPECT_EQ(lines(*ours, operation)[0], concat(prefix, "algorithm: AES256"));
    EXPECT_EQ(lines(*ours, operation)[1], concat(prefix, "key: ", kKey));
  }
  for (const S3Operation operation : {S3Operation::kCopies, S3Operation::kCopiesIntoPart}) {
    EXPECT_EQ(lines(*ours, operation).size(), 6U);
    EXPECT_EQ(lines(*ours, operation)[4],
              concat("x-amz-copy-source-server-side-encryption-customer-key: ", kKey));
  }
  EXPECT_THAT(lines(*ours, S3Operation::kOther), IsEmpty());
}

TEST(S3Encryption, TheCustomersKeyMayLieInAFile) {
  const std::string path = testing::TempDir() + "headrace-" + hex64(random_name_bits());
  std::string raw(32, '\0');
  for (int i = 0; i < 32; ++i) raw[i] = static_cast<char>(i);
  for (const std::string& text : {raw, kKey + "\n"}) {
    std::ofstream(path, std::ios::binary) << text;
    const auto ours =
        encryption_with({{"HEADRACE_S3_SSE", "customer"}, {"HEADRACE_S3_SSE_CUSTOMER_KEY_FILE", path}});
    ASSERT_TRUE(ours) << ours.error().message;
    EXPECT_EQ(std::get<CustomerKeyEncryption>(*ours).key_base64, kKey);
  }
  std::filesystem::remove(path);
}

TEST(S3Encryption, WhatCannotBeUnderstoodIsRefusedWithoutTheKey) {
  const std::string canary = "Y2FuYXJ5LWNhbmFyeS1jYW5hcnk=";
  for (const auto& variables : std::vector<std::map<std::string, std::string, std::less<>>>{
           {{"HEADRACE_S3_SSE", "rot13"}},
           {{"HEADRACE_S3_SSE", "AES256"}, {"HEADRACE_S3_SSE_KMS_KEY_ID", "key"}},
           {{"HEADRACE_S3_SSE", "customer"}},
           {{"HEADRACE_S3_SSE", "customer"}, {"HEADRACE_S3_SSE_CUSTOMER_KEY", canary}},
           {{"HEADRACE_S3_SSE", "customer"}, {"HEADRACE_S3_SSE_CUSTOMER_KEY", canary + "!"}},
           {{"HEADRACE_S3_SSE", "customer"}, {"HEADRACE_S3_SSE_CUSTOMER_KEY_FILE", "/nowhere"}}}) {
    const auto encryption = encryption_with(variables);
    ASSERT_FALSE(encryption);
    EXPECT_EQ(encryption.error().code, Code::kInvalidArgument);
    EXPECT_THAT(encryption.error().message, Not(HasSubstr(canary.substr(0, 8))));
  }
}

TEST(S3Encryption, TheCustomersKeyIsNotSentInTheClear) {
  const auto ours =
      encryption_with({{"HEADRACE_S3_SSE", "customer"}, {"HEADRACE_S3_SSE_CUSTOMER_KEY", kKey}});
  EXPECT_FALSE(check_encryption(*ours, *parse_http_endpoint("http://minio:9000"), {}));
  EXPECT_TRUE(check_encryption(*ours, *parse_http_endpoint("https://minio:9000"), {}));
  EXPECT_TRUE(check_encryption(*ours, *parse_http_endpoint("http://127.0.0.1:9000"), {}));
  EXPECT_TRUE(check_encryption(*ours, std::nullopt, {}));
  const TlsOptions unchecked{.verify = false};
  EXPECT_FALSE(check_encryption(*ours, *parse_http_endpoint("https://minio:9000"), unchecked));
  EXPECT_FALSE(check_encryption(*ours, std::nullopt, unchecked));
  EXPECT_TRUE(check_encryption(*ours, *parse_http_endpoint("https://localhost:9000"), unchecked));
  EXPECT_TRUE(check_encryption(NoEncryption(), *parse_http_endpoint("https://minio:9000"), unchecked));
  EXPECT_TRUE(check_encryption(NoEncryption(), *parse_http_endpoint("http://minio:9000"), {}));
}

}  // namespace
}  // namespace headrace

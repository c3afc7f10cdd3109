#include "headrace/store/s3/credentials/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kProcessAnswer =
    R"({"Version": 1, "AccessKeyId": "id", "SecretAccessKey": "canary", "SessionToken": "token",
        "Expiration": "2026-11-21T03:26:00Z"})";

TEST(CredentialsJson, OfAProgramIsRead) {
  const auto keys = parse_credentials_json(kProcessAnswer, CredentialsForm::kProcess);
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->access_key_id, "id");
  EXPECT_EQ(keys->secret_access_key, "canary");
  EXPECT_EQ(keys->session_token, "token");
  EXPECT_EQ(keys->expires, parse_iso_time("2026-11-21T03:26:00Z"));
}

TEST(CredentialsJson, OfAServiceIsRead) {
  const auto keys = parse_credentials_json(
      R"({"Code": "Success", "AccessKeyId": "id", "SecretAccessKey": "s", "Token": "token"})",
      CredentialsForm::kService);
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->session_token, "token");
  EXPECT_FALSE(keys->expires);
}

TEST(CredentialsJson, ThatCannotBeUsedIsRefusedAndNotQuoted) {
  const std::string deep(100'000, '[');
  for (const std::string_view text : std::initializer_list<std::string_view>{
           "", "canary", "[1]", "null", deep,
           R"({"Version": 2, "AccessKeyId": "a", "SecretAccessKey": "canary"})",
           R"({"Version": 1, "AccessKeyId": "a"})",
           R"({"Version": 1, "AccessKeyId": 1, "SecretAccessKey": 2})",
           R"({"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "canary\r\nX: y"})",
           R"({"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "canary", "Expiration": "soon"})"}) {
    const auto keys = parse_credentials_json(text, CredentialsForm::kProcess);
    ASSERT_FALSE(keys) << text.substr(0, 80);
    EXPECT_THAT(keys.error().message, Not(HasSubstr("canary")));
  }
  const auto refusal =
      parse_credentials_json(R"({"Code": "AssumeRoleUnauthorizedAccess"})", CredentialsForm::kService);
  EXPECT_THAT(refusal.error().message, HasSubstr("AssumeRoleUnauthorizedAccess"));
}

TEST(StsAnswer, IsRead) {
  const auto keys = parse_sts_credentials(
      R"(<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
         <Credentials><AccessKeyId>id</AccessKeyId><SecretAccessKey>s</SecretAccessKey>
         <SessionToken>t</SessionToken><Expiration>2026-11-21T03:26:00Z</Expiration></Credentials>
         </AssumeRoleResult></AssumeRoleResponse>)",
      "AssumeRole");
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->session_token, "t");
  EXPECT_TRUE(keys->expires);
}

TEST(StsAnswer, OfAnotherKindIsRefused) {
  for (const std::string_view text : {"", "<a", "<AssumeRoleResponse/>", "{}"})
    EXPECT_EQ(parse_sts_credentials(text, "AssumeRole").error().code, Code::kUnauthenticated) << text;
}

TEST(StsError, IsOnePrintableLine) {
  EXPECT_EQ(parse_sts_error("<ErrorResponse><Error><Code>AccessDenied</Code><Message>no\nway\x01</Message>"
                            "</Error></ErrorResponse>"),
            "AccessDenied: no way ");
  EXPECT_EQ(parse_sts_error("<html/>"), "");
}

}  // namespace
}  // namespace headrace

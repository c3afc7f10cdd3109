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

TEST(CredentialsJson, MustHoldBothKeysInPrintableAscii) {
  const auto read = [](std::string_view id, std::string_view secret, std::string_view token) {
    return parse_credentials_json(concat(R"({"AccessKeyId": ")", id, R"(", "SecretAccessKey": ")", secret,
                                         R"(", "Token": ")", token, "\"}"),
                                  CredentialsForm::kService);
  };
  EXPECT_TRUE(read("!~", "!~", "!~"));
  for (const auto& keys : {read("", "s", "t"), read("i", "", "t")}) {
    ASSERT_FALSE(keys);
    EXPECT_EQ(keys.error().code, Code::kUnauthenticated);
    EXPECT_THAT(keys.error().message, HasSubstr("no AccessKeyId or no SecretAccessKey"));
  }
  for (const char* bad : {"a b", "a\x7f", "é"}) {
    for (const auto& keys : {read(bad, "s", "t"), read("i", bad, "t"), read("i", "s", bad)}) {
      ASSERT_FALSE(keys) << bad;
      EXPECT_THAT(keys.error().message, HasSubstr("spaces or non-ASCII")) << bad;
    }
  }
}

TEST(CredentialsJson, OfAServiceNeedsNoCode) {
  EXPECT_TRUE(
      parse_credentials_json(R"({"AccessKeyId": "i", "SecretAccessKey": "s"})", CredentialsForm::kService));
}

TEST(CredentialsJson, SaysWhatIsWrong) {
  const auto why = [](std::string_view text) {
    return parse_credentials_json(text, CredentialsForm::kProcess).error().message;
  };
  EXPECT_THAT(why("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(why(R"({"AccessKeyId": "i", "SecretAccessKey": "s"})"), HasSubstr("lacks \"Version\": 1"));
  EXPECT_THAT(why(R"({"Version": 1, "AccessKeyId": "i", "SecretAccessKey": "s", "Expiration": "soon"})"),
              HasSubstr("not a time"));
}

TEST(StsAnswer, ThatIsCutIsNoXml) {
  EXPECT_THAT(parse_sts_credentials("<AssumeRoleResponse>", "AssumeRole").error().message,
              HasSubstr("not XML"));
}

TEST(StsError, MayBeACodeOrAMessageAlone) {
  EXPECT_EQ(parse_sts_error("<ErrorResponse><Error><Code>A</Code></Error></ErrorResponse>"), "A");
  EXPECT_EQ(parse_sts_error("<ErrorResponse><Error><Message>b</Message></Error></ErrorResponse>"), "b");
  EXPECT_EQ(parse_sts_error("<ErrorResponse><Error><Code>A</Code></Error>"), "") << "it is cut";
}

}  // namespace
}  // namespace headrace

#include "headrace/store/s3/credentials/answers.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kProcessAnswer =
    R"({"Version": 1, "AccessKeyId": "id", "SecretAccessKey": "canary", "SessionToken": "token",
        "Expiration": "2026-11-21T03:26:00Z"})";

std::int64_t seconds_of(std::string_view text) {
  const auto time = parse_iso_time(text);
  return time ? std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count() : -1;
}

TEST(IsoTime, IsUnderstoodWithEveryKindOfZone) {
  const std::int64_t expected = 1'795'231'560;
  EXPECT_EQ(seconds_of("2026-11-21T03:26:00Z"), expected);
  EXPECT_EQ(seconds_of("2026-11-21T03:26:00.123456Z"), expected);
  EXPECT_EQ(seconds_of("2026-11-21 03:26:00+00:00"), expected);
  EXPECT_EQ(seconds_of("2026-11-21T04:26:00+01:00"), expected);
  EXPECT_EQ(seconds_of("2026-11-20T22:56:00-0430"), expected);
  EXPECT_EQ(seconds_of("2024-02-29T00:00:00Z"), 1'709'164'800);
}

TEST(IsoTime, OfAnotherFormIsNone) {
  for (const std::string_view text :
       {"", "2026-11-21", "2026-11-21T03:26:00", "2026-13-21T03:26:00Z", "2026-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z", "2026-11-21T03:26:00+1:00", "2026-11-21T03:26:00Zulu",
        "9999-01-01T00:00:00Z"})
    EXPECT_EQ(seconds_of(text), -1) << text;
}

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

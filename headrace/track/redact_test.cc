#include "headrace/track/redact.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

TEST(RedactSecrets, MasksUserInfoAndQueryValuesOfUrls) {
  EXPECT_EQ(redact_secrets("s3://key:secret@host/a/b"), "s3://***@host/a/b");
  EXPECT_EQ(redact_secrets("see \"https://u@h\" and http://h/a@b"), "see \"https://***@h\" and http://h/a@b");
  EXPECT_EQ(redact_secrets("https://h/a?X-Amz-Signature=abc&part=1#x"),
            "https://h/a?X-Amz-Signature=***&part=***#x");
  EXPECT_EQ(redact_secrets("https://h?a=1=2 next"), "https://h?a=*** next");
}

TEST(RedactSecrets, MasksWhatFollowsASecretsName) {
  EXPECT_EQ(redact_secrets("AWS_SECRET_ACCESS_KEY=abc, x"), "AWS_SECRET_ACCESS_KEY=***, x");
  EXPECT_EQ(redact_secrets("--my-password=abc"), "--my-password=***");
  EXPECT_EQ(redact_secrets("Session-Token: abc def"), "Session-Token: *** def");
  EXPECT_EQ(redact_secrets("token="), "token=");
}

TEST(RedactSecrets, LeavesTheRestAlone) {
  for (const char* text : {"", "s3://datasets/reviews", "epochs=10", "tokens=5", "file:///a b/c", "://",
                           "a://@", "batch: 128", "key=1"}) {
    const std::string redacted = redact_secrets(text);
    EXPECT_TRUE(redacted == text || std::string_view(text) == "a://@") << redacted;
  }
}

TEST(RedactSecrets, MasksWhatIsQuotedOrInBracketsAsAWhole) {
  EXPECT_EQ(redact_secrets(R"(db_pass="a b", next)"), R"(db_pass="***", next)");
  EXPECT_EQ(redact_secrets(R"({"password": "a\"b, c", "user": "me"})"),
            R"({"password": "***", "user": "me"})");
  EXPECT_EQ(redact_secrets(R"({"password":17,"user":"me"})"), R"({"password":***,"user":"me"})");
  EXPECT_EQ(redact_secrets(R"({'credentials': {'id': 'a', 'n': [1]}, 'x': 1})"),
            R"({'credentials': ***, 'x': 1})");
  EXPECT_EQ(redact_secrets(R"("{\"api key\": \"a b\", \"x\": 1}")"), R"("{\"api key\": \"***\", \"x\": 1}")");
  EXPECT_EQ(redact_secrets(R"(curl -H "Authorization: Digest a='b', c" https://h)"),
            R"(curl -H "Authorization: ***" https://h)");
  EXPECT_EQ(redact_secrets("Cookie: a=b; c=d\nNext: x"), "Cookie: ***\nNext: x");
}

// A name that sounds secret, in any form that records may hold.
TEST(RedactSecrets, NoValueOfASecretSurvives) {
  const char* const names[] = {"apikey",
                               "api-key",
                               "API_KEY",
                               "db_pass",
                               "x-amz-security-token",
                               "dbPassword",
                               "db.passwd2",
                               "client_secret",
                               "Authorization",
                               "Proxy-Authorization",
                               "pwd",
                               "spark.hadoop.fs.s3a.secret.key",
                               "AccountKey",
                               "auth[password]",
                               "secret_access_key",
                               "private-key",
                               "x-amz-server-side-encryption-customer-key"};
  const char* const forms[] = {"N=V",
                               "N: V",
                               "N = V",
                               "--N=V",
                               "--N V",
                               "a=1,N=V",
                               "a=1&N=V",
                               "N='V'",
                               "N=\"V\"",
                               "{\"N\":\"V\"}",
                               "{\"a\": {\"N\": [\"V\", \"V\"]}}",
                               "{'N': 'V'}",
                               "\"{\\\"N\\\":\\\"V\\\"}\"",
                               "failed: \"--N=V\" was refused",
                               "Authorization: Bearer V",
                               "authorization: Basic V\nHost: h",
                               "N: Token V",
                               "https://u:V@h/a",
                               "https://h/a?N=V",
                               "https://h/a?x=1&N=V#x",
                               "https://h/#N=V",
                               "jdbc:db://h;user=u;N=V",
                               "curl -H 'N: V' https://h",
                               "N=s3://V"};
  const char* const values[] = {"hunter2", "hun+ter/2==hunter2", "hunter2,hunter2",
                                "hunter2;hunter2:x@hunter2", "*hunter2*"};
  for (const std::string_view name : names) {
    for (const std::string_view form : forms) {
      for (const std::string_view value : values) {
        const bool is_url_path = form.find("jdbc") != form.npos || form.find("s3:") != form.npos;
        if (is_url_path && value.find('/') != value.npos) continue;  // ends a segment of a path
        std::string text;
        for (const char c : form)
          text += c == 'N' ? std::string(name) : c == 'V' ? std::string(value) : std::string(1, c);
        const std::string redacted = redact_secrets(text);
        EXPECT_EQ(redacted.find("hunter2"), redacted.npos) << text << " became " << redacted;
        EXPECT_EQ(redact_secrets(redacted), redacted) << text;
        const std::vector<std::string> words =
            redact_command_line({"x", "--runner-option", text, text + " b"});
        EXPECT_EQ(join(words, " ").find("hunter2"), std::string::npos)
            << text << " became " << join(words, " ");
      }
    }
  }
}

TEST(RedactSecrets, TakesTimeInProportionToTheLength) {
  for (const char* part :
       {"token=[", "token=\n", "\"token\":", "token=\"a\" ", "--token ", "a=", "[", "\\\""}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    EXPECT_FALSE(redact_secrets(text).empty());
    EXPECT_EQ(redact_command_line({text}).size(), 1U);
  }
}

TEST(RedactSecrets, MasksTheWordAfterAnOptionForASecret) {
  EXPECT_EQ(redact_command_line({"headrace", "--token", "abc", "--epochs", "3", "--token=x", "y"}),
            (std::vector<std::string>{"headrace", "--token", "***", "--epochs", "3", "--token=***", "y"}));
}

TEST(RedactSecrets, MasksAWordToItsEnd) {
  EXPECT_EQ(
      redact_command_line({"--runner-option", "db_pass=a, b=c 'd", "--runner-option=apikey=a b", "x=1"}),
      (std::vector<std::string>{"--runner-option", "db_pass=***", "--runner-option=apikey=***", "x=1"}));
}

}  // namespace
}  // namespace headrace

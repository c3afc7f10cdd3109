#include "headrace/store/s3/s3_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "headrace/base/text.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/store/s3/credentials/aws_profile.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Variables = std::map<std::string, std::string, std::less<>>;

const Variables kKeys = {{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "canary-secret"}};

Result<S3Options> options_with(Variables variables, bool with_keys = true) {
  if (with_keys) variables.insert(kKeys.begin(), kKeys.end());
  Environment environment;
  environment.variables = std::move(variables);
  return s3_options_from(environment);
}

S3Credentials keys_of(const S3Options& options) {
  const auto keys = options.credentials->get({});
  EXPECT_TRUE(keys) << keys.error().message;
  return keys ? **keys : S3Credentials{};
}

// ~/.aws of an imagined user.
class AwsFiles : public testing::Test {
 protected:
  void SetUp() override {
    home = testing::TempDir() + "headrace-" + hex64(random_name_bits());
    std::filesystem::create_directories(home + "/.aws");
  }
  void TearDown() override { std::filesystem::remove_all(home); }
  void write(const std::string& name, std::string_view text) {
    std::ofstream(home + "/.aws/" + name) << text;
  }
  std::string home;
};

TEST(S3Options, TlsIsAsTheEnvironmentSays) {
  const auto plain = options_with({});
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->tls.verify);
  for (const std::string& unset :
       {plain->tls.ca_file, plain->tls.certificate_file, plain->tls.key_file, plain->tls.key_password})
    EXPECT_EQ(unset, "");
  const auto options = options_with({{"AWS_CA_BUNDLE", "/authorities.pem"},
                                     {"S3_VERIFY_SSL", "0"},
                                     {"HEADRACE_S3_CLIENT_CERTIFICATE", "/certificate.pem"},
                                     {"HEADRACE_S3_CLIENT_KEY", "/key.pem"},
                                     {"HEADRACE_S3_CLIENT_KEY_PASSWORD", "canary-password"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_FALSE(options->tls.verify);
  EXPECT_EQ(options->tls.ca_file, "/authorities.pem");
  EXPECT_EQ(options->tls.certificate_file, "/certificate.pem");
  EXPECT_EQ(options->tls.key_file, "/key.pem");
  EXPECT_EQ(options->tls.key_password, "canary-password");
  EXPECT_EQ(options_with({{"S3_CA_FILE", "/older.pem"}})->tls.ca_file, "/older.pem");
}

TEST(S3Options, WithoutCredentialsSaysWhichVariablesToSet) {
  const auto options = options_with({}, false);
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, Code::kUnauthenticated);
  EXPECT_THAT(options.error().message,
              AllOf(HasSubstr("AWS_ACCESS_KEY_ID"), HasSubstr("AWS_SECRET_ACCESS_KEY"),
                    HasSubstr("HEADRACE_S3_ANONYMOUS")));
  const auto half = options_with({{"AWS_ACCESS_KEY_ID", "id"}}, false);
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message, HasSubstr("not AWS_SECRET_ACCESS_KEY"));
}

TEST(S3Options, AnonymousOnlyWhenAskedAndNothingElseIsThere) {
  EXPECT_FALSE(options_with({{"HEADRACE_S3_ANONYMOUS", "1"}}, false)->credentials);
  EXPECT_TRUE(options_with({{"HEADRACE_S3_ANONYMOUS", "1"}})->credentials);
  EXPECT_FALSE(options_with({{"HEADRACE_S3_ANONYMOUS", "0"}}, false));
}

TEST(S3Options, ReadTheNamesOfAws) {
  const auto options = options_with({{"AWS_SESSION_TOKEN", "token"},
                                     {"AWS_REGION", "eu-west-3"},
                                     {"AWS_ENDPOINT_URL", "https://other"},
                                     {"AWS_ENDPOINT_URL_S3", "http://[::1]:9000"},
                                     {"AWS_CA_BUNDLE", "/ca.pem"},
                                     {"AWS_REQUEST_CHECKSUM_CALCULATION", "WHEN_REQUIRED"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(keys_of(*options).access_key_id, "id");
  EXPECT_EQ(keys_of(*options).session_token, "token");
  EXPECT_EQ(options->region, "eu-west-3");
  EXPECT_EQ(options->endpoint->text(), "http://[::1]:9000");
  EXPECT_EQ(options->endpoint_source, "AWS_ENDPOINT_URL_S3");
  EXPECT_EQ(options->tls.ca_file, "/ca.pem");
  EXPECT_TRUE(options->tls.verify);
  EXPECT_FALSE(options->send_checksums);
  EXPECT_FALSE(options->requester_pays);
  EXPECT_TRUE(options->probe_conditions);
  EXPECT_TRUE(options_with({{"AWS_REQUEST_PAYER", "Requester"}})->requester_pays);
  EXPECT_FALSE(options_with({{"HEADRACE_S3_PROBE_CONDITIONS", "0"}})->probe_conditions);
  EXPECT_FALSE(options_with({})->endpoint) << "AWS itself";
}

TEST(S3Options, ReadTheNamesInTensorFlowUsersScripts) {
  const auto options = options_with({{"S3_ENDPOINT", "minio:9000"},
                                     {"S3_USE_HTTPS", "0"},
                                     {"S3_VERIFY_SSL", "0"},
                                     {"S3_REGION", "here"},
                                     {"S3_CA_FILE", "/ca.pem"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->endpoint->text(), "http://minio:9000");
  EXPECT_FALSE(options->tls.verify);
  EXPECT_EQ(options->region, "here");
  EXPECT_EQ(options->tls.ca_file, "/ca.pem");
  EXPECT_EQ(options_with({{"S3_ENDPOINT", "minio:9000"}})->endpoint->text(), "https://minio:9000");
  EXPECT_EQ(options_with({{"S3_ENDPOINT", "http://minio:9000"}})->endpoint->text(), "http://minio:9000");
  EXPECT_EQ(options_with({{"S3_ENDPOINT", "a"}, {"AWS_ENDPOINT_URL", "https://b"}})->endpoint->host, "b");
}

TEST(S3Options, AStoreThatIsNotVerifiedLeavesWhoGivesKeysVerified) {
  HttpTestServer container([](const TestHttpRequest&) { return test_reply(200, "{}"); },
                           {.tls = make_test_certificate("IP:127.0.0.1")});
  const auto options = options_with(
      {{"S3_VERIFY_SSL", "0"}, {"AWS_CONTAINER_CREDENTIALS_FULL_URI", container.endpoint().text()}}, false);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_FALSE(options->tls.verify);
  const auto keys = options->credentials->get({});
  ASSERT_FALSE(keys);
  EXPECT_THAT(keys.error().message, HasSubstr("certificate"));
}

TEST(S3Options, HoldTheEncryptionAndTheClockOfTheirEnvironment) {
  Environment environment;
  environment.variables = kKeys;
  environment.variables["HEADRACE_S3_SSE"] = "aws:kms";
  const std::chrono::system_clock::time_point then(std::chrono::hours(7));
  environment.now = [then] { return then; };
  const auto options = s3_options_from(environment);
  ASSERT_TRUE(options) << options.error().message;
  ASSERT_TRUE(std::holds_alternative<ServerKeyEncryption>(options->encryption));
  EXPECT_EQ(std::get<ServerKeyEncryption>(options->encryption).algorithm, "aws:kms");
  EXPECT_EQ(options->now(), then);
}

TEST(S3Options, NameTheVariableThatCannotBeUnderstood) {
  for (const auto& [name, value] : Variables{{"AWS_ENDPOINT_URL_S3", "ftp://x"},
                                             {"S3_ENDPOINT", "http://"},
                                             {"S3_VERIFY_SSL", "maybe"},
                                             {"AWS_REGION", "a/b\n"},
                                             {"AWS_REQUEST_PAYER", "me"},
                                             {"HEADRACE_S3_PROBE_CONDITIONS", "perhaps"},
                                             {"HEADRACE_S3_ADDRESSING_STYLE", "sideways"},
                                             {"AWS_PROFILE", "nobody"}}) {
    const auto options = options_with({{name, value}});
    ASSERT_FALSE(options) << name;
    EXPECT_EQ(options.error().code, Code::kInvalidArgument) << name;
    EXPECT_THAT(options.error().message, Not(HasSubstr("canary"))) << name;
  }
}

TEST_F(AwsFiles, HoldProfiles) {
  write("credentials",
        "[default]\naws_access_key_id=default-id\naws_secret_access_key = s#e;c=r/et\n\n"
        "[work]\naws_access_key_id = work-id\naws_secret_access_key = x # comment\n");
  write("config",
        "# comment\n[default]\nregion = eu-west-1\n[profile  work]\nregion = eu-west-2\ns3 =\n"
        "  addressing_style = virtual\nendpoint_url = http://work:1\nca_bundle = /work.pem\n");
  const auto standard = options_with({{"HOME", home}}, false);
  ASSERT_TRUE(standard) << standard.error().message;
  EXPECT_EQ(keys_of(*standard).access_key_id, "default-id");
  EXPECT_EQ(keys_of(*standard).secret_access_key, "s#e;c=r/et");
  EXPECT_EQ(standard->region, "eu-west-1");

  const auto work = options_with({{"HOME", home}, {"AWS_PROFILE", "work"}}, false);
  ASSERT_TRUE(work) << work.error().message;
  EXPECT_EQ(keys_of(*work).secret_access_key, "x");
  EXPECT_EQ(work->region, "eu-west-2");
  EXPECT_EQ(work->addressing, S3Addressing::kVirtual);
  EXPECT_EQ(work->endpoint->text(), "http://work:1");
  EXPECT_EQ(work->tls.ca_file, "/work.pem");
  EXPECT_THAT(work->credentials->source(), HasSubstr("profile \"work\""));

  const auto keys_win = options_with({{"HOME", home}});
  EXPECT_EQ(keys_of(*keys_win).access_key_id, "id");
}

TEST_F(AwsFiles, MayLieElsewhere) {
  write("mine", "[default]\naws_access_key_id=a\naws_secret_access_key=b\n");
  EXPECT_TRUE(options_with({{"AWS_SHARED_CREDENTIALS_FILE", home + "/.aws/mine"}}, false));
  EXPECT_FALSE(options_with({{"AWS_SHARED_CREDENTIALS_FILE", home + "/.aws/none"}}, false));
}

TEST_F(AwsFiles, NonsenseInThemIsSkipped) {
  write("credentials", std::string("[\n=\n[]\nx\n  y = z\n[default\n\0\xff\n[default]\n = 1\nregion\n", 50));
  EXPECT_EQ(options_with({{"HOME", home}}, false).error().code, Code::kUnauthenticated);
}

}  // namespace
}  // namespace headrace

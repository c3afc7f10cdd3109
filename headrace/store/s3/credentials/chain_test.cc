// Which source is taken, and what each of them asks for, with a server of the test's own as STS, container
// and instance.

#include "headrace/store/s3/credentials/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/store/s3/credentials/profile_source.h"
#include "headrace/store/s3/credentials/sources.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kServiceAnswer =
    R"({"Code": "Success", "AccessKeyId": "service-id", "SecretAccessKey": "canary-s", "Token": "canary-t",
        "Expiration": "2100-01-01T00:00:00Z"})";

std::string sts_answer(std::string_view action) {
  return concat("<", action, "Response><", action, "Result><Credentials><AccessKeyId>role-id</AccessKeyId>",
                "<SecretAccessKey>canary-s</SecretAccessKey><SessionToken>canary-t</SessionToken>",
                "<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></", action, "Result></", action,
                "Response>");
}

class Chain : public testing::Test {
 protected:
  void SetUp() override {
    home = testing::TempDir() + "headrace-" + hex64(random_name_bits());
    std::filesystem::create_directories(home + "/.aws");
    environment.variables["HOME"] = home;
    environment.variables["AWS_ENDPOINT_URL_STS"] = server.endpoint().text();
    environment.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server.endpoint().text();
  }
  void TearDown() override { std::filesystem::remove_all(home); }

  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(home + "/.aws/" + name) << text;
    return home + "/.aws/" + name;
  }
  void set(const std::string& name, const std::string& value) { environment.variables[name] = value; }

  Result<std::shared_ptr<CredentialsProvider>> find() {
    return find_credentials({.environment = environment, .region = "eu-west-3"});
  }
  // The access key id, or the error, which never holds a secret.
  std::string id() {
    const auto provider = find();
    if (!provider) return shown(provider.error());
    EXPECT_TRUE(requests.empty()) << "finding out whom to ask asks nobody";
    if (*provider == nullptr) return "anonymous";
    const auto keys = (*provider)->get({});
    return keys ? (*keys)->access_key_id : shown(keys.error());
  }
  static std::string shown(const Error& error) {
    EXPECT_THAT(error.message, Not(HasSubstr("canary")));
    return error.message;
  }

  TestHttpReply answer(const TestHttpRequest& request) {
    const std::scoped_lock lock(mutex);
    requests.push_back(request);
    return reply(request);
  }

  Environment environment;
  std::string home;
  std::mutex mutex;
  std::vector<TestHttpRequest> requests;
  std::function<TestHttpReply(const TestHttpRequest&)> reply = [](const TestHttpRequest& request) {
    const bool is_web = request.body.find("WithWebIdentity") != std::string::npos;
    return test_reply(200, sts_answer(is_web ? "AssumeRoleWithWebIdentity" : "AssumeRole"));
  };
  HttpTestServer server{[this](const TestHttpRequest& request) { return answer(request); }};
};

TEST_F(Chain, TakesTheSourcesInTheirOrder) {
  EXPECT_THAT(id(), HasSubstr("no credentials"));
  set("HEADRACE_S3_ANONYMOUS", "1");
  EXPECT_EQ(id(), "anonymous");
  set("HEADRACE_S3_INSTANCE_CREDENTIALS", "1");
  EXPECT_THAT((*find())->source(), HasSubstr("instance"));
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.endpoint().text());
  EXPECT_THAT((*find())->source(), HasSubstr("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  EXPECT_THAT((*find())->source(), HasSubstr("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"));
  set("AWS_WEB_IDENTITY_TOKEN_FILE", "/token");
  EXPECT_THAT(id(), HasSubstr("not AWS_ROLE_ARN"));
  set("AWS_ROLE_ARN", "arn:aws:iam::1:role/x");
  EXPECT_THAT((*find())->source(), HasSubstr("AWS_WEB_IDENTITY_TOKEN_FILE"));
  write("credentials", "[default]\naws_access_key_id = in-file\naws_secret_access_key = canary\n");
  EXPECT_THAT((*find())->source(), HasSubstr("AWS_WEB_IDENTITY_TOKEN_FILE")) << "anonymous was asked for";
  environment.variables.erase("HEADRACE_S3_ANONYMOUS");
  EXPECT_EQ(id(), "in-file");
  set("AWS_ACCESS_KEY_ID", "in-environment");
  set("AWS_SECRET_ACCESS_KEY", "canary");
  EXPECT_EQ(id(), "in-environment");
}

TEST_F(Chain, ADefaultProfileThatNobodyAskedForAndThatIsOfNoUseHidesNoOtherSource) {
  for (const char* text :
       {"sso_start_url = https://x\n", "aws_access_key_id = half\n", "role_arn = arn:x\n"}) {
    write("config", concat("[default]\n", text));
    environment.variables.erase("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    EXPECT_THAT(id(), HasSubstr("profile \"default\"")) << "nothing else is there";
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.endpoint().text());
    EXPECT_THAT((*find())->source(), HasSubstr("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
    set("AWS_PROFILE", "default");
    EXPECT_FALSE(find()) << "now it is asked for";
    environment.variables.erase("AWS_PROFILE");
  }
  set("HEADRACE_S3_ANONYMOUS", "1");
  environment.variables.erase("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  write("config", "[default]\naws_access_key_id = in-file\naws_secret_access_key = canary\n");
  EXPECT_EQ(id(), "anonymous");
  set("AWS_PROFILE", "default");
  EXPECT_EQ(id(), "in-file");
}

TEST_F(Chain, AssumesARoleWithTheKeysOfAnotherProfile) {
  write("config",
        "[profile work]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = base\nexternal_id = e x\n"
        "role_session_name = me\nduration_seconds = 900\nregion = eu-south-2\n");
  write("credentials",
        "[base]\naws_access_key_id = base-id\naws_secret_access_key = canary\naws_session_token = "
        "base-token\n");
  set("AWS_PROFILE", "work");
  EXPECT_EQ(id(), "role-id");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/");
  EXPECT_EQ(
      requests[0].body,
      "Action=AssumeRole&DurationSeconds=900&ExternalId=e%20x&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&"
      "RoleSessionName=me&Version=2011-06-15");
  EXPECT_THAT(requests[0].header("Authorization"),
              AllOf(HasSubstr("Credential=base-id/"), HasSubstr("/eu-west-3/sts/aws4_request")));
  EXPECT_EQ(requests[0].header("X-Amz-Security-Token"), "base-token");
}

TEST_F(Chain, FollowsProfilesOneAfterAnother) {
  write("config",
        "[default]\nrole_arn = arn:second\nsource_profile = middle\n[profile middle]\nrole_arn = arn:first\n"
        "source_profile = base\n[profile base]\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": "
        "\"process-id\", \"SecretAccessKey\": \"canary\"}'\n");
  EXPECT_EQ(id(), "role-id");
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_THAT(requests[0].header("Authorization"), HasSubstr("Credential=process-id/"));
  EXPECT_THAT(requests[0].body, HasSubstr("RoleArn=arn%3Afirst"));
  EXPECT_THAT(requests[1].header("Authorization"), HasSubstr("Credential=role-id/"));
  EXPECT_THAT(requests[1].body, HasSubstr("RoleArn=arn%3Asecond"));
}

TEST_F(Chain, AProfileMayAssumeItsRoleWithItsOwnKeys) {
  write("credentials",
        "[default]\nrole_arn = arn:x\nsource_profile = default\naws_access_key_id = own\n"
        "aws_secret_access_key = canary\n");
  EXPECT_EQ(id(), "role-id");
  EXPECT_THAT(requests.at(0).header("Authorization"), HasSubstr("Credential=own/"));
}

TEST_F(Chain, RefusesAChainOfProfilesThatNeverEnds) {
  write("config",
        "[default]\nrole_arn = arn:x\nsource_profile = b\n[profile b]\nrole_arn = arn:y\nsource_profile = "
        "default\n");
  EXPECT_THAT(id(), HasSubstr("default → b → default"));
  std::string many = "[default]\nrole_arn = arn:x\nsource_profile = p0\n";
  for (int i = 0; i < 20; ++i)
    many += concat("[profile p", i, "]\nrole_arn = arn:x\nsource_profile = p", i + 1, '\n');
  write("config", many);
  EXPECT_THAT(id(), HasSubstr("never reaches keys"));
}

TEST_F(Chain, SaysWhatIsWrongInAProfile) {
  const auto with = [&](std::string_view text) {
    write("config", concat("[default]\n", text));
    return id();
  };
  EXPECT_THAT(with("aws_access_key_id = a\n"),
              HasSubstr("has aws_access_key_id without aws_secret_access_key"));
  EXPECT_THAT(with("aws_secret_access_key = canary\n"),
              HasSubstr("has aws_secret_access_key without aws_access_key_id"));
  EXPECT_THAT(with("role_arn = arn:x\n"), HasSubstr("source_profile, credential_source"));
  EXPECT_THAT(with("role_arn = arn:x\nsource_profile = nobody\n"),
              HasSubstr("\"nobody\" that does not exist"));
  EXPECT_THAT(with("role_arn = arn:x\ncredential_source = Moon\n"), HasSubstr("must be Environment"));
  EXPECT_THAT(with("role_arn = arn:x\ncredential_source = Environment\n"), HasSubstr("has no keys"));
  EXPECT_THAT(with("role_arn = arn:x\nsource_profile = default\nduration_seconds = long\n"),
              HasSubstr("duration_seconds"));
  EXPECT_THAT(with("role_arn = arn:x\nsource_profile = default\nmfa_serial = 1\n"), HasSubstr("mfa_serial"));
  EXPECT_THAT(with("sso_start_url = https://x\n"), HasSubstr("export-credentials"));
}

TEST_F(Chain, CredentialSourceEnvironmentSignsWithItsKeys) {
  write("config", "[profile x]\nrole_arn = arn:x\ncredential_source = EcsContainer\n");
  set("AWS_PROFILE", "x");
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", concat(server.endpoint().text(), "/keys"));
  reply = [](const TestHttpRequest& request) {
    return test_reply(200, request.method == "GET" ? std::string(kServiceAnswer) : sts_answer("AssumeRole"));
  };
  EXPECT_EQ(id(), "role-id");
  EXPECT_THAT(requests.at(1).header("Authorization"), HasSubstr("Credential=service-id/"));
}

TEST_F(Chain, StsRefusalsAreReported) {
  write("credentials",
        "[default]\nrole_arn = arn:x\nsource_profile = default\naws_access_key_id = own\n"
        "aws_secret_access_key = canary\n");
  reply = [](const TestHttpRequest&) {
    return test_reply(403,
                      "<ErrorResponse><Error><Code>AccessDenied</Code><Message>may not</Message></Error>"
                      "</ErrorResponse>");
  };
  EXPECT_THAT(id(), AllOf(HasSubstr("arn:x"), HasSubstr("403 AccessDenied: may not")));
  EXPECT_EQ(requests.size(), 1U);
}

TEST_F(Chain, StsIsAskedAgainWhenItFails) {
  write("credentials",
        "[default]\nrole_arn = arn:x\nsource_profile = default\naws_access_key_id = own\n"
        "aws_secret_access_key = canary\n");
  reply = [&](const TestHttpRequest&) {
    return requests.size() < 3 ? test_reply(503) : test_reply(200, sts_answer("AssumeRole"));
  };
  EXPECT_EQ(id(), "role-id");
}

TEST_F(Chain, AnOverloadedStsIsAskedAgainAndUnavailableInTheEnd) {
  write("credentials",
        "[default]\nrole_arn = arn:x\nsource_profile = default\naws_access_key_id = own\n"
        "aws_secret_access_key = canary\n");
  for (const char* code :
       {"Throttling", "ThrottlingException", "RequestLimitExceeded", "IDPCommunicationError"}) {
    reply = [&](const TestHttpRequest&) {
      return test_reply(400, concat("<ErrorResponse><Error><Code>", code,
                                    "</Code><Message>later</Message></Error></ErrorResponse>"));
    };
    requests.clear();
    EXPECT_EQ((*find())->get({}).error().code, Code::kUnavailable) << code;
    EXPECT_EQ(requests.size(), 3U) << code;
  }
}

TEST_F(Chain, StsIsNotAskedInTheClearOverANetwork) {
  write("credentials",
        "[default]\nrole_arn = arn:x\nsource_profile = default\naws_access_key_id = own\n"
        "aws_secret_access_key = canary\n");
  set("AWS_ENDPOINT_URL_STS", "http://sts.example.invalid");
  EXPECT_THAT(id(), HasSubstr("unencrypted; AWS_ENDPOINT_URL_STS must"));
  environment.variables.erase("AWS_ENDPOINT_URL_STS");
  set("AWS_ENDPOINT_URL", "http://sts.example.invalid");
  EXPECT_THAT(id(), HasSubstr("unencrypted; AWS_ENDPOINT_URL must"));
}

TEST_F(Chain, AWebIdentityIsExchangedForKeysUnsigned) {
  set("AWS_WEB_IDENTITY_TOKEN_FILE", write("token", "canary-token\n"));
  set("AWS_ROLE_ARN", "arn:x");
  set("AWS_ROLE_SESSION_NAME", "me");
  EXPECT_EQ(id(), "role-id");
  EXPECT_EQ(requests.at(0).body,
            "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Ax&RoleSessionName=me&Version=2011-06-15&"
            "WebIdentityToken=canary-token");
  EXPECT_EQ(requests.at(0).header("Authorization"), "");
  requests.clear();
  set("AWS_WEB_IDENTITY_TOKEN_FILE", home + "/none");
  EXPECT_THAT(id(), AllOf(HasSubstr("/none"), HasSubstr("cannot be read")));
}

TEST_F(Chain, AContainerIsAskedWithItsToken) {
  reply = [](const TestHttpRequest&) { return test_reply(200, kServiceAnswer); };
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", concat(server.endpoint().text(), "/keys/?of=me"));
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "canary-1");
  EXPECT_EQ(id(), "service-id");
  EXPECT_EQ(requests.at(0).target, "/keys/?of=me");
  EXPECT_EQ(requests.at(0).header("Authorization"), "canary-1");
  requests.clear();
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", write("token", "canary-2\n"));
  EXPECT_EQ(id(), "service-id");
  EXPECT_EQ(requests.at(0).header("Authorization"), "canary-2");
}

TEST_F(Chain, AContainerIsNotAskedInTheClearOverANetwork) {
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.1/keys");
  EXPECT_THAT(id(), HasSubstr("unencrypted"));
  for (const char* link : {"http://169.254.170.2/x", "http://169.254.170.23/x", "http://[fd00:ec2::23]/x",
                           "https://10.0.0.1/x"}) {
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", link);
    EXPECT_TRUE(find()) << link;
  }
}

TEST_F(Chain, AnInstanceIsAskedForATokenItsRoleAndThenTheKeys) {
  reply = [](const TestHttpRequest& request) {
    if (request.method == "PUT") return test_reply(200, "canary-token");
    if (request.header("X-aws-ec2-metadata-token") != "canary-token") return test_reply(401);
    return test_reply(200, request.target.ends_with('/') ? "my role\n" : kServiceAnswer);
  };
  set("HEADRACE_S3_INSTANCE_CREDENTIALS", "1");
  EXPECT_EQ(id(), "service-id");
  std::vector<std::string> seen;
  for (const TestHttpRequest& request : requests) seen.push_back(concat(request.method, ' ', request.target));
  EXPECT_THAT(seen, ElementsAre("PUT /latest/api/token", "GET /latest/meta-data/iam/security-credentials/",
                                "GET /latest/meta-data/iam/security-credentials/my%20role"));
}

TEST_F(Chain, AnInstanceWithoutARoleSaysSo) {
  reply = [](const TestHttpRequest& request) {
    return request.method == "PUT" ? test_reply(200, "t") : test_reply(404);
  };
  set("HEADRACE_S3_INSTANCE_CREDENTIALS", "1");
  EXPECT_THAT(id(), HasSubstr("has the instance a role?"));
}

TEST_F(Chain, AProgramThatFailsIsQuotedWithoutWhatMayBeSecret) {
  write("config",
        "[default]\ncredential_process = echo first >&2; echo \"no canary-0123456789-0123456789-0123 today\" "
        ">&2; exit 3\n");
  EXPECT_THAT(id(), AllOf(HasSubstr("status 3"), HasSubstr("no … today"), Not(HasSubstr("first"))));
}

TEST_F(Chain, AProgramThatSaysNonsenseOrTooMuchIsRefused) {
  write("config", "[default]\ncredential_process = echo canary\n");
  EXPECT_THAT(id(), HasSubstr("not a JSON object"));
  write("config", "[default]\ncredential_process = yes canary\n");
  EXPECT_THAT(id(), HasSubstr("was killed"));
}

TEST_F(Chain, AProgramIsKilledWhenTheCallerStops) {
  write("config", "[default]\ncredential_process = sleep 1000\n");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ((*find())->get(stop.get_token()).error().code, Code::kCancelled);
}

TEST_F(Chain, AProfilesFileIsReadAgainWhenItsKeysAreRefused) {
  write("credentials", "[default]\naws_access_key_id = old\naws_secret_access_key = canary\n");
  auto now = std::chrono::system_clock::now();
  environment.now = [&] { return now; };
  const auto provider = *find();
  const auto old = *provider->get({});
  now += std::chrono::minutes(1);
  EXPECT_EQ(old->access_key_id, "old");
  write("credentials", "[default]\naws_access_key_id = new\naws_secret_access_key = canary\n");
  EXPECT_TRUE(provider->refuse(old));
  EXPECT_EQ((*provider->get({}))->access_key_id, "new");
}

constexpr std::string_view kRoleWithItsOwnKeys =
    "[default]\nrole_arn = arn:x\nsource_profile = default\naws_access_key_id = own\n"
    "aws_secret_access_key = canary\n";

TEST_F(Chain, ErrorsHaveTheCodeOfTheirKind) {
  const auto code = [&] { return find().error().code; };
  const auto with = [&](std::string_view text) {
    write("config", concat("[default]\n", text));
    return code();
  };
  EXPECT_EQ(code(), Code::kUnauthenticated);
  EXPECT_EQ(with("region = x\n"), Code::kUnauthenticated);
  EXPECT_THAT(id(), AllOf(HasSubstr("profile \"default\""), HasSubstr("holds no keys")));
  EXPECT_EQ(with("aws_access_key_id = a\n"), Code::kUnauthenticated);
  EXPECT_EQ(with("sso_session = x\n"), Code::kInvalidArgument);
  EXPECT_EQ(with("role_arn = arn:x\nsource_profile = a\ncredential_source = Environment\n"),
            Code::kInvalidArgument);
  write("config", "");
  set("AWS_WEB_IDENTITY_TOKEN_FILE", "/token");
  EXPECT_EQ(code(), Code::kUnauthenticated);
  set("AWS_ROLE_ARN", "arn:x");
  set("AWS_ENDPOINT_URL_STS", "ftp://x");
  EXPECT_EQ(code(), Code::kInvalidArgument);
  EXPECT_THAT(id(), HasSubstr("s3: AWS_ENDPOINT_URL_STS"));
  environment.variables.erase("AWS_WEB_IDENTITY_TOKEN_FILE");
  for (const char* uri : {"nonsense", "http://10.0.0.1/keys"}) {
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri);
    EXPECT_EQ(code(), Code::kInvalidArgument) << uri;
    EXPECT_THAT(id(), HasSubstr("s3: AWS_CONTAINER_CREDENTIALS_FULL_URI"));
  }
  environment.variables.erase("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  set("HEADRACE_S3_INSTANCE_CREDENTIALS", "1");
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "nonsense");
  EXPECT_EQ(code(), Code::kInvalidArgument);
  EXPECT_THAT(id(), HasSubstr("s3: AWS_EC2_METADATA_SERVICE_ENDPOINT"));
}

TEST_F(Chain, HalfAPairOfKeysInTheEnvironmentIsRefused) {
  set("AWS_ACCESS_KEY_ID", "a");
  EXPECT_EQ(find().error().code, Code::kUnauthenticated);
  EXPECT_EQ(id(), "s3: AWS_ACCESS_KEY_ID is set, but not AWS_SECRET_ACCESS_KEY");
  environment.variables.erase("AWS_ACCESS_KEY_ID");
  set("AWS_SECRET_ACCESS_KEY", "canary");
  EXPECT_EQ(id(), "s3: AWS_SECRET_ACCESS_KEY is set, but not AWS_ACCESS_KEY_ID");
}

TEST_F(Chain, KeysInTheEnvironmentAreTheSameForEver) {
  set("AWS_ACCESS_KEY_ID", "a");
  set("AWS_SECRET_ACCESS_KEY", "canary");
  set("AWS_SESSION_TOKEN", "canary-token");
  const auto provider = *find();
  EXPECT_FALSE(provider->is_renewable());
  EXPECT_EQ(provider->source(), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ((*provider->get({}))->session_token, "canary-token");
}

TEST_F(Chain, SourcesAreNamedByWhereTheyAre) {
  write("config", "[default]\ncredential_process = true\n");
  EXPECT_EQ((*find())->source(), concat("profile \"default\" in ", home, "/.aws/config"));
  EXPECT_TRUE((*find())->is_renewable());
  write("config", kRoleWithItsOwnKeys);
  const std::string where = concat("profile \"default\" in ", home, "/.aws/config");
  EXPECT_EQ((*find())->source(), concat("the role arn:x of ", where, ", assumed with keys of ", where));
  write("config", "");
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  EXPECT_EQ((*find())->source(), "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
}

TEST_F(Chain, EightRolesMayFollowEachOther) {
  const auto roles = [](int count) {
    std::string text = "[default]\nrole_arn = arn:x\nsource_profile = p1\n";
    for (int i = 1; i < count; ++i)
      text += concat("[profile p", i, "]\nrole_arn = arn:x\nsource_profile = p", i + 1, '\n');
    return concat(text, "[profile p", count, "]\naws_access_key_id = a\naws_secret_access_key = canary\n");
  };
  write("config", roles(8));
  EXPECT_TRUE(find());
  write("config", roles(9));
  EXPECT_THAT(id(), HasSubstr("never reaches keys: default → p1"));
}

TEST_F(Chain, AnotherProfileGivesKeysAlsoIfItHasARole) {
  write("config", concat("[profile y]\nrole_arn = arn:y\nsource_profile = default\n", kRoleWithItsOwnKeys));
  set("AWS_PROFILE", "y");
  EXPECT_EQ(id(), "role-id");
  EXPECT_EQ(requests.size(), 1U);
}

TEST_F(Chain, AProfilesWebIdentityIsExchanged) {
  write("config",
        concat("[default]\nrole_arn = arn:x\nweb_identity_token_file = ", write("token", "canary\n"), '\n'));
  EXPECT_EQ(id(), "role-id");
  EXPECT_THAT(requests.at(0).body, AllOf(HasSubstr("RoleSessionName=headrace-"), HasSubstr("=canary")));
  EXPECT_THAT(requests.at(0).body, AllOf(Not(HasSubstr("ExternalId")), Not(HasSubstr("DurationSeconds"))));
}

TEST_F(Chain, RolesAreAssumedWithKeysOfTheEnvironmentOrTheInstance) {
  write("config", "[profile x]\nrole_arn = arn:x\ncredential_source = Ec2InstanceMetadata\n");
  set("AWS_PROFILE", "x");
  EXPECT_THAT((*find())->source(), HasSubstr("instance"));
  write("config", "[profile x]\nrole_arn = arn:x\ncredential_source = Environment\n");
  set("AWS_ACCESS_KEY_ID", "in-environment");
  set("AWS_SECRET_ACCESS_KEY", "canary");
  const auto role = *profile_source({.environment = environment, .region = "x"}, "x");
  EXPECT_EQ(role->fetch({})->access_key_id, "role-id");
  EXPECT_THAT(requests.at(0).header("Authorization"), HasSubstr("Credential=in-environment/"));
}

TEST_F(Chain, AProfileThatIsGoneHoldsNoKeys) {
  write("config", "[default]\naws_access_key_id = a\naws_secret_access_key = canary\n");
  const auto provider = *find();
  write("config", "");
  const auto keys = provider->get({});
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().code, Code::kUnauthenticated);
  EXPECT_THAT(keys.error().message, HasSubstr("no longer contains any"));
}

TEST_F(Chain, StsIsAskedBelowItsBasePathAtTheTimeOfTheClock) {
  write("config", kRoleWithItsOwnKeys);
  set("AWS_ENDPOINT_URL", "https://sts.example.invalid");
  set("AWS_ENDPOINT_URL_STS", concat(server.endpoint().text(), "/base"));
  environment.now = [] { return std::chrono::system_clock::from_time_t(1369353600); };
  EXPECT_EQ(id(), "role-id");
  EXPECT_EQ(requests.at(0).target, "/base/");
  EXPECT_EQ(requests.at(0).header("X-Amz-Date"), "20130524T000000Z");
  EXPECT_EQ(requests.at(0).header("Content-Type"), "application/x-www-form-urlencoded; charset=utf-8");
  EXPECT_FALSE(find_header(requests.at(0).headers, "X-Amz-Security-Token"));
}

TEST_F(Chain, StsIsThatOfTheRegionReachedThroughTheProxy) {
  write("config", kRoleWithItsOwnKeys);
  environment.variables.erase("AWS_ENDPOINT_URL_STS");
  reply = [](const TestHttpRequest&) { return test_reply(407); };
  const HttpProxies proxies{.for_https = HttpProxy{.endpoint = server.endpoint(), .source = "HTTPS_PROXY"}};
  for (const auto& [region, host] : {std::pair("eu-west-3", "sts.eu-west-3.amazonaws.com"),
                                     std::pair("cn-north-1", "sts.cn-north-1.amazonaws.com.cn")}) {
    const auto provider =
        *find_credentials({.environment = environment, .region = region, .proxies = proxies});
    EXPECT_THAT(provider->get({}).error().message, HasSubstr(concat("https://", host)));
    const std::scoped_lock lock(mutex);
    ASSERT_FALSE(requests.empty());
    EXPECT_EQ(requests.back().target, concat(host, ":443"));
  }
}

TEST_F(Chain, StsIsAcceptedWithACertificateOfTheGivenAuthorities) {
  const TestCertificate certificate = make_test_certificate("IP:127.0.0.1");
  HttpTestServer sts([this](const TestHttpRequest& request) { return answer(request); },
                     {.tls = certificate});
  write("config", kRoleWithItsOwnKeys);
  set("AWS_ENDPOINT_URL_STS", sts.endpoint().text());
  const auto provider = *find_credentials(
      {.environment = environment, .region = "x", .ca_file = write("ca", certificate.certificate)});
  EXPECT_TRUE(provider->get({}));
}

TEST_F(Chain, RefusalsOfServicesAreUnauthenticated) {
  const auto code = [&] { return (*find())->get({}).error().code; };
  reply = [](const TestHttpRequest&) { return test_reply(403); };
  set("HEADRACE_S3_INSTANCE_CREDENTIALS", "1");
  EXPECT_EQ(code(), Code::kUnauthenticated);
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.endpoint().text());
  EXPECT_EQ(code(), Code::kUnauthenticated);
  EXPECT_FALSE(find_header(requests.back().headers, "Authorization")) << "it has no token";
  requests.clear();
  EXPECT_THAT(id(), HasSubstr("answers with status 403"));
  write("credentials", kRoleWithItsOwnKeys);
  EXPECT_EQ(code(), Code::kUnauthenticated);
  reply = [](const TestHttpRequest&) { return test_reply(200, "nonsense"); };
  requests.clear();
  EXPECT_THAT(id(), HasSubstr("assuming the role arn:x"));
  set("AWS_ENDPOINT_URL_STS", "http://sts.example.invalid");
  EXPECT_EQ(code(), Code::kInvalidArgument);
}

TEST_F(Chain, AnInstanceIsAskedBelowItsBasePathForItsFirstRole) {
  reply = [](const TestHttpRequest& request) {
    return test_reply(200, request.method == "PUT"         ? "t"
                           : request.target.ends_with('/') ? "first\nsecond\n"
                                                           : kServiceAnswer);
  };
  set("HEADRACE_S3_INSTANCE_CREDENTIALS", "1");
  for (const char* base : {"/base", "/base/"}) {
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", concat(server.endpoint().text(), base));
    requests.clear();
    EXPECT_EQ(id(), "service-id");
    EXPECT_EQ(requests.at(0).target, "/base/latest/api/token");
    EXPECT_EQ(requests.at(0).header("X-aws-ec2-metadata-token-ttl-seconds"), "300");
    EXPECT_EQ(requests.at(2).target, "/base/latest/meta-data/iam/security-credentials/first");
  }
}

TEST_F(Chain, AnInstancesServiceHasTwoAddresses) {
  environment.variables.erase("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  set("HEADRACE_S3_INSTANCE_CREDENTIALS", "1");
  EXPECT_THAT((*find())->source(), HasSubstr("http://169.254.169.254"));
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6");
  EXPECT_THAT((*find())->source(), HasSubstr("http://[fd00:ec2::254]"));
}

TEST_F(Chain, AnInstanceIsWaitedForAsLongAsTheCallerWants) {
  reply = [&](const TestHttpRequest& request) {
    if (requests.size() == 1) return TestHttpReply{};  // silence
    return test_reply(200, request.target.ends_with("/x") ? kServiceAnswer : "x");
  };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(instance_source(environment)->fetch({.patience = std::chrono::milliseconds(50)}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1'900));
}

TEST_F(Chain, AProgramsReasonIsItsLastLineWithoutLongWords) {
  const auto reason = [&](std::string_view command) {
    const auto keys = process_source(std::string(command), environment, "x").fetch({});
    EXPECT_EQ(keys.error().code, Code::kUnauthenticated) << command;
    return shown(keys.error());
  };
  EXPECT_EQ(reason("exit 1"), "credential_process: it ended with status 1");
  EXPECT_EQ(reason("echo no way >&2; exit 3"), "credential_process: it ended with status 3: no way");
  EXPECT_EQ(reason("echo first >&2; echo no way >&2; exit 3"),
            "credential_process: it ended with status 3: no way");
  EXPECT_EQ(reason(concat("echo ", std::string(31, 'a'), ' ', std::string(32, 'b'), " >&2; exit 3")),
            concat("credential_process: it ended with status 3: ", std::string(31, 'a'), " …"));
}

TEST_F(Chain, AProgramMayTakeAndSaySoMuch) {
  const auto code = [&](std::string command, std::chrono::milliseconds patience) {
    return process_source(std::move(command), environment, "x").fetch({.patience = patience}).error().code;
  };
  EXPECT_EQ(code("sleep 20", std::chrono::milliseconds(50)), Code::kDeadlineExceeded);
  EXPECT_EQ(code("printf '%300000s' x", std::chrono::seconds(20)), Code::kResourceExhausted);
}

}  // namespace
}  // namespace headrace

// Cases that real servers seldom show; the rest is in tests/python/test_doctor.py.

#include "headrace/store/s3/s3_examine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/store/s3/credentials/test_credentials.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Outcome = Finding::Outcome;
using std::chrono::system_clock;

constexpr std::string_view kEmptyList =
    "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";

struct Examined {
  bool is_usable = false;
  std::map<std::string, Finding> findings{};
};

S3Options options_for(const HttpTestServer& server) {
  S3Options options{.endpoint = server.endpoint()};
  options.endpoint_source = "AWS_ENDPOINT_URL_S3";
  options.credentials = fixed_credentials({"AKIAEXAMPLE", "canary-secret"}, "the test");
  options.max_attempts = 1;
  options.now = [] { return *parse_http_date("Sat, 21 Nov 2026 12:00:00 GMT"); };
  return options;
}

Examined examine(const S3Options& options) {
  Examined out;
  out.is_usable = examine_s3("bucket", options, {}, [&](Finding finding) {
    EXPECT_THAT(finding.text + finding.advice, Not(HasSubstr("canary")));
    out.findings[finding.name] = finding;
  });
  return out;
}

Examined examine_with_date(const std::string& date) {
  HttpTestServer server([&](const TestHttpRequest& request) {
    const std::string line = concat("Date: ", date, "\r\n");
    return request.method == "HEAD" ? TestHttpReply{concat("HTTP/1.1 200 OK\r\n", line, "\r\n")}
                                    : test_reply(200, kEmptyList, line);
  });
  return examine(options_for(server));
}

TEST(S3Examine, ComparesTheClocks) {
  EXPECT_EQ(examine_with_date("Sat, 21 Nov 2026 12:00:30 GMT").findings["clock"].outcome, Outcome::kOk);
  const Finding behind = examine_with_date("Sat, 21 Nov 2026 12:10:00 GMT").findings["clock"];
  EXPECT_EQ(behind.outcome, Outcome::kWarning);
  EXPECT_THAT(behind.text, AllOf(HasSubstr("10 min behind"), Not(HasSubstr("refused"))));
  EXPECT_THAT(behind.advice, HasSubstr("NTP"));
  EXPECT_THAT(examine_with_date("Sat, 21 Nov 2026 10:00:00 GMT").findings["clock"].text,
              AllOf(HasSubstr("120 min ahead"), HasSubstr("refused")));
}

TEST(S3Examine, NamesTheSourceOfKeysAndOnlyTheBeginningOfTheirId) {
  const auto examined = examine_with_date("Sat, 21 Nov 2026 12:00:00 GMT");
  EXPECT_TRUE(examined.is_usable);
  EXPECT_EQ(examined.findings.at("credentials").text, "key AKIA…, from the test");
}

TEST(S3Examine, NamesTheRegionAndWhereItComesFrom) {
  HttpTestServer server([](const TestHttpRequest&) { return test_reply(200, kEmptyList); });
  S3Options options = options_for(server);
  options.region = "eu-test-1";
  options.region_source = "a file";
  EXPECT_EQ(examine(options).findings.at("region").text, "eu-test-1, from a file");
}

TEST(S3Examine, WarnsOfKeysThatExpireSoonAndCannotBeRenewed) {
  HttpTestServer server([](const TestHttpRequest&) { return test_reply(200, kEmptyList); });
  S3Options options = options_for(server);
  options.credentials = fixed_credentials({"id", "s", "t", options.now() + std::chrono::minutes(5)});
  const Finding soon = examine(options).findings["credentials"];
  EXPECT_EQ(soon.outcome, Outcome::kWarning);
  EXPECT_THAT(soon.text, HasSubstr("5 min"));
  options.credentials = fixed_credentials({"id", "s", "t"});
  EXPECT_THAT(examine(options).findings["credentials"].text, HasSubstr("their lifetime is unknown"));
}

TEST(S3Examine, ABucketThatCannotBeListedMayStillServe) {
  HttpTestServer server([](const TestHttpRequest& request) {
    if (request.method == "HEAD") return TestHttpReply{"HTTP/1.1 403 Forbidden\r\n\r\n"};
    return test_reply(403, "<Error><Code>AccessDenied</Code></Error>");
  });
  const auto examined = examine(options_for(server));
  EXPECT_TRUE(examined.is_usable);
  EXPECT_EQ(examined.findings.at("access").outcome, Outcome::kWarning);
}

TEST(S3Examine, NamesTheRegionThatTheBucketIsIn) {
  HttpTestServer server([](const TestHttpRequest& request) {
    if (request.method == "HEAD") return TestHttpReply{"HTTP/1.1 403 Forbidden\r\n\r\n"};
    if (request.header("Authorization").find("/eu-west-3/") != std::string::npos)
      return test_reply(200, kEmptyList);
    return test_reply(400,
                      "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>");
  });
  const auto examined = examine(options_for(server));
  EXPECT_TRUE(examined.is_usable);
  EXPECT_EQ(examined.findings.at("access").outcome, Outcome::kOk);
  const Finding& region = examined.findings.at("region of the bucket");
  EXPECT_EQ(region.outcome, Outcome::kWarning);
  EXPECT_THAT(region.advice, HasSubstr("AWS_REGION=eu-west-3"));
}

TEST(S3Examine, WhatSpeaksNoHttpIsToldFromAServerThatIsDown) {
  HttpTestServer server([](const TestHttpRequest&) { return TestHttpReply{"SSH-2.0-x\r\n\r\n"}; });
  const auto examined = examine(options_for(server));
  EXPECT_FALSE(examined.is_usable);
  EXPECT_EQ(examined.findings.at("connection").outcome, Outcome::kFailure);
  EXPECT_THAT(examined.findings.at("connection").advice, HasSubstr("does not speak HTTP"));
  for (const char* later : {"TLS", "clock", "access", "region of the bucket"})
    EXPECT_FALSE(examined.findings.contains(later)) << "nothing is asked where nobody answers";
}

Finding checksums(const HttpTestServer& server) {
  std::vector<Finding> findings;
  examine_s3_checksums("bucket", "folder", options_for(server), {},
                       [&](const Finding& finding) { findings.push_back(finding); });
  EXPECT_EQ(findings.size(), 1U);
  return findings.empty() ? Finding{} : findings[0];
}

TEST(S3Examine, OnlyARefusalOfTheChecksumShowsThatItIsChecked) {
  for (const auto& [code, message, expected] :
       {std::tuple("BadDigest", "", Outcome::kOk),
        std::tuple("XAmzContentChecksumMismatch", "", Outcome::kOk),
        std::tuple("InvalidRequest", "Value for Checksum is invalid", Outcome::kOk),
        std::tuple("InvalidRequest", "no such bucket here", Outcome::kWarning),
        std::tuple("InvalidArgument", "checksum", Outcome::kWarning)}) {
    HttpTestServer server([code = code, message = message](const TestHttpRequest&) {
      return test_reply(400,
                        concat("<Error><Code>", code, "</Code><Message>", message, "</Message></Error>"));
    });
    const Finding finding = checksums(server);
    EXPECT_EQ(finding.outcome, expected) << code << ": " << message;
    if (expected == Outcome::kWarning) {
      EXPECT_THAT(finding.text, HasSubstr(code));
    }
  }
}

TEST(S3Examine, WhatMayHaveBeenWrittenThoughTheAnswerWasLostIsRemoved) {
  std::vector<std::string> methods;
  HttpTestServer server([&](const TestHttpRequest& request) {
    methods.push_back(request.method);
    return request.method == "PUT" ? TestHttpReply{"", TestHttpReply::Then::kClose} : test_reply(204);
  });
  EXPECT_EQ(checksums(server).outcome, Outcome::kFailure);
  EXPECT_EQ(methods.back(), "DELETE");
}

TEST(S3Examine, AServerThatIgnoresChecksumsIsNoticedAndCleanedUp) {
  std::vector<std::string> methods;
  HttpTestServer server([&](const TestHttpRequest& request) {
    methods.push_back(request.method);
    return test_reply(200, "", "ETag: \"v\"\r\n");
  });
  EXPECT_EQ(checksums(server).outcome, Outcome::kWarning);
  EXPECT_EQ(methods, (std::vector<std::string>{"PUT", "DELETE"}));
}

// A server that keeps conditions on requests of one part, and on completed uploads or not.
std::map<std::string, Finding> completions(bool are_refused, std::vector<std::string>& seen) {
  HttpTestServer server([&](const TestHttpRequest& request) {
    seen.push_back(concat(request.method, " ", request.target));
    if (request.method == "POST" && request.target.ends_with("uploads="))
      return test_reply(
          200, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>");
    if (request.method == "POST" && are_refused)
      return test_reply(412, "<Error><Code>PreconditionFailed</Code></Error>");
    if (request.method == "POST")
      return test_reply(200,
                        "<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>");
    if (request.method == "GET") return test_reply(404, "<Error><Code>NoSuchUpload</Code></Error>");
    return request.method == "PUT" ? test_reply(200, "", "ETag: \"e\"\r\n") : test_reply(204);
  });
  std::map<std::string, Finding> findings;
  examine_s3_completions("bucket", "folder", options_for(server), {},
                         [&](const Finding& finding) { findings[finding.name] = finding; });
  return findings;
}

TEST(S3Examine, TellsWhetherConditionsHoldWhereUploadsAreCompletedAndLeavesNothing) {
  for (const bool are_refused : {true, false}) {
    std::vector<std::string> seen;
    auto findings = completions(are_refused, seen);
    EXPECT_EQ(findings.size(), 2U);
    for (const char* name : {"uploads in parts, If-None-Match", "uploads in parts, If-Match"})
      EXPECT_EQ(findings[name].outcome, are_refused ? Outcome::kOk : Outcome::kFailure) << name;
    int written = 0, removed = 0;
    for (const std::string& request : seen) {
      EXPECT_THAT(request, HasSubstr("/bucket/folder/.headrace-probe-"));
      const bool is_of_object = request.find('?') == request.npos;
      written += is_of_object && request.starts_with("PUT ");
      removed += is_of_object && request.starts_with("DELETE ");
    }
    EXPECT_EQ(written, 2);
    EXPECT_EQ(removed, 2);
  }
}

}  // namespace
}  // namespace headrace

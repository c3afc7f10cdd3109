// Requests as a server sees them: their fields, when they are sent again, and what the client learns.

#include "headrace/store/s3/s3_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <latch>
#include <string>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/s3_script_test.h"

namespace headrace {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::uint64_t counted(const Store& store, std::string_view name) {
  const auto counters = store.counters();
  const auto found = std::ranges::find(counters, name, &StoreCounter::name);
  EXPECT_NE(found, counters.end()) << name;
  return found == counters.end() ? 0 : found->value;
}

TEST(S3Client, SendsAgainAfterTheStatusesThatMayPass) {
  for (const int status : {307, 408, 429, 500, 502, 503, 504}) {
    Script script({test_reply(status), kAccepted});
    EXPECT_TRUE(write_text(*script.store, "key", "text")) << status;
    EXPECT_EQ(script.requests().size(), 2U) << status;
  }
  for (const int status : {400, 401, 403, 404, 405, 409, 410, 412, 416, 499, 501, 505}) {
    Script script({test_reply(status), kAccepted});
    EXPECT_FALSE(write_text(*script.store, "key", "text")) << status;
    EXPECT_EQ(script.requests().size(), 1U) << status;
  }
}

TEST(S3Client, PausesBeforeItSendsAgain) {
  using std::chrono::milliseconds;
  HttpTestServer server([](const TestHttpRequest&) { return test_reply(500); });
  S3Options options{.endpoint = server.endpoint(), .max_attempts = 3};
  options.credentials = fixed_credentials({"key-id", "secret"});
  options.now = Environment{}.now;
  options.backoff = {.shortest = milliseconds(40), .longest = milliseconds(40)};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(open_s3_store("bucket", options)->stat("key", {}));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(80))
      << "two pauses between three attempts";
}

TEST(S3Client, SendsAgainAfterConflictsThatPass) {
  for (const char* code : {"ConditionalRequestConflict", "OperationAborted"}) {
    Script script({test_reply(409, error_xml(code)), kAccepted});
    EXPECT_TRUE(write_text(*script.store, "key", "text")) << code;
    EXPECT_EQ(script.requests().size(), 2U);
    Script otherwise({test_reply(400, error_xml(code)), kAccepted});
    EXPECT_FALSE(write_text(*otherwise.store, "key", "text")) << code;
    Script once({test_reply(409, error_xml(code)), kAccepted});
    S3Client client("bucket", once.options());
    const auto answer = client.perform({.method = "PUT", .key = "key", .repeat_conflicts = false});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->error_code, code);
  }
  Script other({test_reply(409, error_xml("BucketAlreadyExists")), kAccepted});
  EXPECT_EQ(error_of(write_text(*other.store, "key", "text")).code, Code::kAborted);
}

TEST(S3Client, AConflictIsNoAttemptThatMayHaveBeenDone) {
  const TestHttpReply refused = test_reply(412, error_xml("PreconditionFailed"));
  for (const auto& [reply, asked] :
       {std::pair{test_reply(409, error_xml("ConditionalRequestConflict")), 2U}, {test_reply(503), 3U}}) {
    Script script({reply, refused, kAccepted});
    EXPECT_EQ(error_of(write_text(*script.store, "key", "text", {.only_if_absent = true})).code,
              Code::kAlreadyExists);
    EXPECT_EQ(script.requests().size(), asked);
  }
  Script both(
      {test_reply(503), test_reply(409, error_xml("ConditionalRequestConflict")), refused, kAccepted});
  EXPECT_FALSE(write_text(*both.store, "key", "text", {.only_if_absent = true}));
  EXPECT_EQ(both.seen().back(), "HEAD /bucket/key");
}

TEST(S3Client, AsksFirstBeforeItSendsAMebibyte) {
  Script script({kAccepted});
  ASSERT_TRUE(script.store->write("key", Bytes((1 << 20) - 1), {}));
  ASSERT_TRUE(script.store->write("key", Bytes(1 << 20), {}));
  EXPECT_EQ(script.requests()[0].header("Expect"), "");
  EXPECT_EQ(script.requests()[1].header("Expect"), "100-continue");
}

TEST(S3Client, AnErrorInTheBodyOfASuccessCountsWhereTheWorkFollowsTheStatus) {
  const TestHttpReply late = test_reply(200, error_xml("AccessDenied"));
  Script script({late});
  S3Client client("bucket", script.options());
  const auto code_of = [&](const S3Request& request) {
    const auto answer = client.perform(request);
    return answer ? answer->error_code : answer.error().message;
  };
  EXPECT_EQ(code_of({.method = "POST", .key = "key"}), "AccessDenied");
  EXPECT_EQ(code_of({.method = "PUT", .key = "key", .headers = {{"x-amz-copy-source", "/bucket/a"}}}),
            "AccessDenied");
  EXPECT_EQ(code_of({.method = "PUT", .key = "key"}), "");
  EXPECT_EQ(code_of({.key = "key"}), "") << "an object may be such a text";
}

TEST(S3Client, AnAnswerWithoutACodeHasAName) {
  Script nameless({test_reply(403, "<Error></Error>")});
  EXPECT_THAT(error_of(write_text(*nameless.store, "key", "text")).message, HasSubstr("403 UnknownError"));
  Script bare({test_reply(403, "no XML")});
  EXPECT_THAT(error_of(write_text(*bare.store, "key", "text")).message, HasSubstr("403 AccessDenied"));
  Script telling({test_reply(403, error_xml("Strange"))});
  EXPECT_THAT(error_of(write_text(*telling.store, "key", "text")).message, HasSubstr("[403 Strange: why]"));
}

TEST(S3Client, SignsTheHeadersOfS3AndTheDigestAndNoOthers) {
  Script script({test_reply(200, "<DeleteResult></DeleteResult>")});
  const std::vector<std::string> keys = {"a", "b"};
  ASSERT_TRUE(script.store->remove_many(keys, {}));
  const TestHttpRequest request = script.requests()[0];
  EXPECT_THAT(
      request.header("Authorization"),
      HasSubstr(
          "SignedHeaders=content-md5;host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature"));
  EXPECT_THAT(request.header("Authorization"), HasSubstr("Credential=key-id/"));
  EXPECT_EQ(request.header("Content-Type"), "application/xml");
}

TEST(S3Client, SignsTheBodyWhereItIsToldTo) {
  S3Options options;
  options.sign_payload = true;
  Script told({kAccepted}, options);
  ASSERT_TRUE(write_text(*told.store, "key", "text"));
  EXPECT_EQ(told.requests()[0].header("x-amz-content-sha256"), sha256_hex(as_bytes("text")));
  options.sign_payload = false;
  Script forbidden({kAccepted}, options);
  ASSERT_TRUE(write_text(*forbidden.store, "key", "text"));
  ASSERT_TRUE(write_text(*forbidden.store, "key", ""));
  EXPECT_EQ(forbidden.requests()[0].header("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
  EXPECT_EQ(forbidden.requests()[1].header("x-amz-content-sha256"), sha256_hex({})) << "of nothing";
}

TEST(S3Client, SignsTheBodyThatTravelsInTheClear) {
  std::vector<TestHttpRequest> seen;
  HttpTestServer proxy([&](const TestHttpRequest& request) { return seen.push_back(request), kAccepted; });
  S3Options options{.endpoint = *parse_http_endpoint("http://store.invalid:9000")};
  options.proxies.for_http = HttpProxy{.endpoint = proxy.endpoint(), .source = "HTTP_PROXY"};
  options.credentials = fixed_credentials({"key-id", std::string(kSecret)});
  options.max_attempts = 1;
  const auto written = write_text(*open_s3_store("bucket", options), "key", "text");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(seen.at(0).target, "http://store.invalid:9000/bucket/key");
  EXPECT_EQ(seen[0].header("x-amz-content-sha256"), sha256_hex(as_bytes("text")));
  EXPECT_EQ(seen[0].header("x-amz-security-token"), "");
  EXPECT_THAT(seen[0].header("Authorization"), Not(HasSubstr("x-amz-security-token")));
}

// A store over TLS, whose certificate is its own authority.
class S3Tls : public testing::Test {
 protected:
  void SetUp() override {
    options.endpoint = server.endpoint();
    options.endpoint_source = "S3_ENDPOINT";
    options.credentials = fixed_credentials({"key-id", std::string(kSecret)});
    options.max_attempts = 1;
    std::ofstream(authority) << certificate.certificate;
  }
  void TearDown() override { std::filesystem::remove(authority); }
  Result<ObjectInfo> write() const { return write_text(*open_s3_store("bucket", options), "key", "text"); }

  const std::string authority = testing::TempDir() + "headrace-" + hex64(random_name_bits());
  const TestCertificate certificate = make_test_certificate("IP:127.0.0.1");
  std::vector<TestHttpRequest> seen;
  HttpTestServer server{[this](const TestHttpRequest& request) { return seen.push_back(request), kAccepted; },
                        {.tls = certificate}};
  S3Options options;
};

TEST_F(S3Tls, TrustsTheAuthoritiesThatItIsGiven) {
  options.tls.ca_file = authority;
  const auto written = write();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(seen.at(0).header("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
}

TEST_F(S3Tls, AnUnknownAuthorityIsToBeNamed) {
  const Error unknown = error_of(write());
  EXPECT_EQ(unknown.code, Code::kUnauthenticated);
  EXPECT_THAT(unknown.message, AllOf(StartsWith("s3://bucket/key: "), HasSubstr("in AWS_CA_BUNDLE"),
                                     Not(HasSubstr("the endpoint comes from"))));
  options.tls.ca_file = authority + "-missing";
  const Error missing = error_of(write());
  EXPECT_EQ(missing.code, Code::kFailedPrecondition);
  EXPECT_THAT(missing.message, HasSubstr("in AWS_CA_BUNDLE"));
  EXPECT_TRUE(seen.empty());
}

TEST(S3Client, WhatAnswersWronglyIsAskedFourTimesAndNamedWithItsSource) {
  Script script({range_of(kObject, 3, 5)});
  const Error error = error_of(script.read(5, {.offset_bytes = 2}));
  EXPECT_EQ(error.code, Code::kDataLoss);
  EXPECT_EQ(script.requests().size(), 4U);
  Script nonsense({{"nonsense\r\n"}}, {.max_attempts = 1});
  EXPECT_THAT(error_of(nonsense.read(5)).message, HasSubstr("the endpoint comes from AWS_ENDPOINT_URL_S3"));
}

TEST(S3Client, AStoppedCallNamesNoSetting) {
  std::stop_source stop;
  stop.request_stop();
  Script script({kAccepted});
  EXPECT_THAT(error_of(script.store->stat("key", {.stop = stop.get_token()})).message,
              Not(AnyOf(HasSubstr("endpoint comes from"), HasSubstr("AWS_CA_BUNDLE"))));
}

TEST(S3Client, SendsAgainOnANewConnectionOnlyWhatMayBeDoneTwice) {
  const auto resent = [](const S3Request& request) {
    Script script({kAccepted, kDropped, kAccepted});
    S3Client client("bucket", script.options());
    EXPECT_TRUE(client.perform({.key = "first"}));
    const auto answer = client.perform(request);
    EXPECT_TRUE(answer);
    EXPECT_EQ(answer && answer->maybe_done_before, client.counters()[2].value == 0);
    EXPECT_EQ(client.counters()[2].name, "resent_total");
    return client.counters()[2].value;
  };
  EXPECT_EQ(resent({.key = "key"}), 1U);
  EXPECT_EQ(resent({.method = "HEAD", .key = "key"}), 1U);
  EXPECT_EQ(resent({.key = "key", .headers = {{"If-Match", "\"v\""}}}), 1U) << "reading changes nothing";
  EXPECT_EQ(resent({.method = "PUT", .key = "key"}), 1U);
  EXPECT_EQ(resent({.method = "DELETE", .key = "key"}), 1U);
  EXPECT_EQ(resent({.method = "POST", .key = "key"}), 0U);
  EXPECT_EQ(resent({.method = "PUT", .key = "key", .headers = {{"If-None-Match", "*"}}}), 0U);
  EXPECT_EQ(resent({.method = "PUT", .key = "key", .headers = {{"If-Match", "\"v\""}}}), 0U);
}

TEST(S3Client, CountsWhatBecomesOfRequests) {
  Script script(
      {kDropped, test_reply(503), test_reply(301, "", "x-amz-bucket-region: eu-west-3\r\n"), kAccepted});
  ASSERT_TRUE(write_text(*script.store, "key", "text"));
  EXPECT_EQ(counted(*script.store, "faults_total"), 3U);
  EXPECT_EQ(counted(*script.store, "overloads_total"), 1U);
  EXPECT_EQ(counted(*script.store, "requests_total"), script.requests().size());
  EXPECT_GE(counted(*script.store, "moved_bytes_total"), 4U);
  EXPECT_EQ(counted(*script.store, "hedges_total"), 0U);
  EXPECT_EQ(counted(*script.store, "hedges_won_total"), 0U);
}

TEST(S3Client, BelievesOnlyRegionsThatCanBeAndOnlyWhereTheBucketIsElsewhere) {
  const auto asked = [](int status, std::string_view region) {
    Script script({test_reply(status, "", concat("x-amz-bucket-region: ", region, "\r\n")), kAccepted});
    (void)write_text(*script.store, "key", "text");
    return script.requests().size();
  };
  for (const int status : {301, 400}) EXPECT_EQ(asked(status, "eu-west-3"), 2U) << status;
  for (const int status : {302, 308, 403, 404}) EXPECT_EQ(asked(status, "eu-west-3"), 1U) << status;
  EXPECT_EQ(asked(301, std::string(64, 'a')), 2U);
  EXPECT_EQ(asked(301, std::string(65, 'a')), 1U);
  EXPECT_EQ(asked(301, ""), 1U);
  EXPECT_EQ(asked(301, "eu/west"), 1U);
  EXPECT_EQ(asked(301, "us-east-1"), 1U) << "it was asked there";
  Script moving({test_reply(307, "", "x-amz-bucket-region: eu-west-3\r\n"), kAccepted});
  ASSERT_TRUE(write_text(*moving.store, "key", "text"));
  EXPECT_THAT(moving.requests()[1].header("Authorization"), HasSubstr("/eu-west-3/"));
}

TEST(S3Client, BelievesTheHeaderMoreThanTheBodyOfARedirection) {
  Script script({test_reply(400, error_xml("AuthorizationHeaderMalformed", "<Region>body-1</Region>"),
                            "x-amz-bucket-region: header-1\r\n"),
                 kAccepted});
  ASSERT_TRUE(write_text(*script.store, "key", "text"));
  EXPECT_THAT(script.requests()[1].header("Authorization"), HasSubstr("/header-1/"));
  ASSERT_TRUE(write_text(*script.store, "key", "text"));
  EXPECT_THAT(script.requests()[2].header("Authorization"), HasSubstr("/header-1/")) << "it is remembered";
}

TEST(S3Client, CorrectsAClockThatIsMoreThanAMinuteWrong) {
  S3Options options;
  options.now = [] { return system_clock::time_point(seconds(1'767'225'600)); };  // 2026-01-01
  const auto asked = [&](std::string_view code, std::string_view date_line) {
    Script script({test_reply(403, error_xml(code), date_line), kAccepted}, options);
    (void)write_text(*script.store, "key", "text");
    EXPECT_EQ(script.requests()[0].header("x-amz-date"), "20260101T000000Z");
    return script.requests().size() == 1 ? "" : script.requests()[1].header("x-amz-date");
  };
  const std::string_view skewed = "RequestTimeTooSkewed";
  EXPECT_EQ(asked(skewed, "Date: Thu, 01 Jan 2026 00:01:00 GMT\r\n"), "");
  EXPECT_EQ(asked(skewed, "Date: Thu, 01 Jan 2026 00:01:01 GMT\r\n"), "20260101T000101Z");
  EXPECT_EQ(asked(skewed, "Date: Wed, 31 Dec 2025 23:00:00 GMT\r\n"), "20251231T230000Z");
  EXPECT_EQ(asked(skewed, ""), "");
  EXPECT_EQ(asked("AccessDenied", "Date: Thu, 01 Jan 2026 01:00:00 GMT\r\n"), "");
}

TEST(S3Client, AnswersOfABucketThatWasSeenSayWhatIsMissing) {
  Script script({test_reply(404), test_reply(404, error_xml("NoSuchKey")), test_reply(404)});
  EXPECT_EQ(error_of(script.store->stat("key", {})).code, Code::kNotFound);
  EXPECT_EQ(error_of(script.store->stat("key", {})).code, Code::kNotFound);
  EXPECT_THAT(script.seen(), ElementsAre("HEAD /bucket/key", "GET /bucket/key", "HEAD /bucket/key"));
  Script written({kAccepted, test_reply(404)});
  ASSERT_TRUE(write_text(*written.store, "key", "text"));
  EXPECT_EQ(error_of(written.store->stat("key", {})).code, Code::kNotFound);
  EXPECT_EQ(written.requests().size(), 2U);
  Script no_bucket({test_reply(404), test_reply(404, error_xml("NoSuchBucket"))});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(error_of(no_bucket.store->stat("key", {})).code, Code::kFailedPrecondition);
}

TEST(S3Client, ErrorsNameObjectEndpointAndSourcesOfSettings) {
  Script denied({test_reply(403, error_xml("AccessDenied"))});
  EXPECT_THAT(error_of(write_text(*denied.store, "a/key", "text")).message,
              AllOf(StartsWith("s3://bucket/a/key: "), HasSubstr("credentials (the caller)")));
  Script missing({test_reply(404, error_xml("NoSuchBucket"))});
  EXPECT_THAT(error_of(list_all(*missing.store, "p")).message,
              AllOf(HasSubstr("s3://bucket: "), HasSubstr("listing p"),
                    HasSubstr(concat("\"bucket\" at ", missing.options().endpoint->text())),
                    HasSubstr("and AWS_ENDPOINT_URL_S3")));
  S3Options options = denied.options();
  options.credentials = nullptr;
  EXPECT_THAT(error_of(write_text(*open_s3_store("bucket", options), "key", "text")).message,
              HasSubstr("anonymous"));
  EXPECT_EQ(denied.requests().back().header("Authorization"), "");
  EXPECT_EQ(denied.requests().back().header("x-amz-date"), "");
}

TEST(S3Client, SettingsOfNothingAtOnceMeanOne) {
  S3Options options;
  options.max_connections = 0;
  options.requests_at_once = 0;
  Script script({range_of(kObject, 0, 5)}, options);
  const auto read = script.read(5);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, "01234");
}

TEST(S3Client, ManyRequestsAreOnTheirWayAtOnceAndNoneBeginsAfterAFailure) {
  std::latch both_sent(2);
  HttpTestServer server([&](const TestHttpRequest&) { return both_sent.arrive_and_wait(), kAccepted; });
  S3Client client("bucket", {.endpoint = server.endpoint(), .requests_at_once = 2});
  int taken = 0;
  client.perform_many(
      2, {}, [](std::size_t) { return S3Request{.key = "key"}; },
      [&](std::size_t, const Result<S3Answer>& answer) { return ++taken, answer.has_value(); });
  EXPECT_EQ(taken, 2);

  Script script({kAccepted});
  S3Options one_by_one = script.options();
  one_by_one.requests_at_once = 1;
  std::vector<std::size_t> order;
  S3Client("bucket", one_by_one)
      .perform_many(
          4, {}, [](std::size_t i) { return S3Request{.key = concat(i)}; },
          [&](std::size_t i, const Result<S3Answer>&) { return order.push_back(i), i < 1; });
  EXPECT_THAT(order, ElementsAre(0U, 1U));
  EXPECT_THAT(script.seen(), ElementsAre("GET /bucket/0", "GET /bucket/1"));
}

// Which requests carry the fields of an encryption: reads, listings, writes, an upload's start, part,
// completion and abort, both kinds of copies, and removals.
std::vector<std::string> encrypted_requests(const S3Encryption& encryption) {
  S3Options options;
  options.encryption = encryption;
  Script script({kAccepted}, options);
  S3Client client("bucket", script.options());
  const HttpHeader source{"x-amz-copy-source", "/bucket/from"};
  const QueryParameters of_part = {{"partNumber", "1"}, {"uploadId", "id"}};
  const std::vector<std::pair<std::string, S3Request>> all = {
      {"get", {.key = "k"}},
      {"head", {.method = "HEAD", .key = "k"}},
      {"list", {.query = {{"list-type", "2"}}}},
      {"put", {.method = "PUT", .key = "k"}},
      {"start", {.method = "POST", .key = "k", .query = {{"uploads", ""}}}},
      {"part", {.method = "PUT", .key = "k", .query = of_part}},
      {"complete", {.method = "POST", .key = "k", .query = {{"uploadId", "id"}}}},
      {"copy", {.method = "PUT", .key = "k", .headers = {source}}},
      {"copy part", {.method = "PUT", .key = "k", .query = of_part, .headers = {source}}},
      {"abort", {.method = "DELETE", .key = "k", .query = {{"uploadId", "id"}}}},
      {"delete many", {.method = "POST", .query = {{"delete", ""}}}}};
  std::vector<std::string> with;
  for (const auto& [name, request] : all) {
    EXPECT_TRUE(client.perform(request)) << name;
    const HttpHeaders headers = script.requests().back().headers;
    const auto fields = std::ranges::count_if(headers, [](const HttpHeader& header) {
      return header.name.find("server-side-encryption") != std::string::npos;
    });
    if (fields > 0) with.push_back(concat(name, ' ', fields));
  }
  return with;
}

TEST(S3Client, EncryptionGoesWithTheRequestsThatNeedIt) {
  EXPECT_THAT(encrypted_requests(ServerKeyEncryption{"AES256"}), ElementsAre("put 1", "start 1", "copy 1"));
  EXPECT_THAT(
      encrypted_requests(*customer_key_encryption(Bytes(32))),
      ElementsAre("get 3", "head 3", "put 3", "start 3", "part 3", "complete 3", "copy 6", "copy part 6"));
}

TEST(S3Client, NamesObjectsForPeopleAndForCopies) {
  const S3Client client("a.bucket", {});
  EXPECT_EQ(client.describe(""), "s3://a.bucket");
  EXPECT_EQ(client.describe("a b"), "s3://a.bucket/a b");
  EXPECT_EQ(client.copy_source("a b/é"), "/a.bucket/a%20b/%C3%A9");
  EXPECT_EQ(client.region(), "us-east-1");
  EXPECT_FALSE(client.bucket_was_seen());
}

TEST(S3Client, AddressesBucketsWhoseNamesFitIntoHosts) {
  const auto target_of = [](const std::string& bucket, S3Addressing addressing) {
    std::string host;
    HttpTestServer proxy([&](const TestHttpRequest& request) { return host = request.target, kAccepted; });
    S3Options options{.endpoint = *parse_http_endpoint("http://s.invalid")};
    options.addressing = addressing;
    options.proxies.for_http = HttpProxy{.endpoint = proxy.endpoint(), .source = "HTTP_PROXY"};
    (void)S3Client(bucket, options).perform({.method = "HEAD"});
    return host;
  };
  EXPECT_THAT(target_of("abc", S3Addressing::kVirtual), StartsWith("http://abc.s.invalid"));
  EXPECT_THAT(target_of("ab", S3Addressing::kVirtual), EndsWith("s.invalid/ab"));
  EXPECT_THAT(target_of(std::string(63, 'a'), S3Addressing::kVirtual), StartsWith("http://aaa"));
  EXPECT_THAT(target_of(std::string(64, 'a'), S3Addressing::kVirtual), StartsWith("http://s.invalid"));
  EXPECT_THAT(target_of("abc", S3Addressing::kPath), EndsWith("s.invalid/abc"));
  EXPECT_THAT(target_of("abc", S3Addressing::kAuto), EndsWith("s.invalid/abc"));
}

}  // namespace
}  // namespace headrace

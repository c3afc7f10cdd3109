#include "headrace/store/s3/credentials/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/net/temporary_file_test.h"
#include "headrace/store/s3/credentials/answers.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(ServiceUrl, IsAnEndpointAndATarget) {
  const auto target_of = [](std::string_view url) { return parse_service_url(url)->target; };
  EXPECT_EQ(target_of("http://host:80/a/b?c"), "/a/b?c");
  EXPECT_EQ(target_of("http://host?c/d"), "/?c/d");
  EXPECT_EQ(target_of("http://host"), "/");
  const auto url = parse_service_url("https://host:81/a");
  EXPECT_EQ(url->endpoint, (HttpEndpoint{.tls = true, .host = "host", .port = 81}));
  for (const char* text : {"host/a", "", "ftp://host/a", "http:///a"}) {
    const auto none = parse_service_url(text);
    ASSERT_FALSE(none) << text;
    EXPECT_EQ(none.error().code, Code::kInvalidArgument) << text;
  }
  EXPECT_THAT(parse_service_url("host/a").error().message, HasSubstr("neither http:// nor https://"));
}

TEST(ServiceUrl, IsConfidentialOverTlsOrWithinThisMachine) {
  const auto confidential = [](std::string_view url) {
    return is_confidential(parse_service_url(url)->endpoint);
  };
  EXPECT_TRUE(confidential("https://host"));
  EXPECT_TRUE(confidential("http://127.0.0.1"));
  EXPECT_FALSE(confidential("http://host"));
}

TEST(ServiceAnswer, AsksToComeAgainByItsStatusOrReason) {
  const auto asks = [](int status, std::string_view body = "") {
    HttpResponse answer{.status = status};
    answer.body.assign(as_bytes(body).begin(), as_bytes(body).end());
    return asks_for_retry(answer);
  };
  for (const int status : {429, 500, 503, 599}) EXPECT_TRUE(asks(status)) << status;
  for (const int status : {200, 400, 403, 404, 428, 430, 499}) EXPECT_FALSE(asks(status)) << status;
  constexpr std::string_view kThrottling =
      "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>";
  EXPECT_TRUE(asks(400, kThrottling));
  EXPECT_FALSE(asks(401, kThrottling));
  EXPECT_FALSE(asks(400, "<ErrorResponse><Error><Code>Denied</Code></Error></ErrorResponse>"));
}

// A server whose answer to a request depends on how many came before.
class Service : public testing::Test {
 protected:
  Result<HttpResponse> ask(FetchLimits limits = {}, const HttpProxies& proxies = {}) {
    return ask_service({.endpoint = server.endpoint()}, "", proxies, limits);
  }
  std::atomic<int> requests = 0;
  std::function<TestHttpReply(int)> reply = [](int) { return test_reply(200); };
  HttpTestServer server{[this](const TestHttpRequest&) { return reply(requests++); }};
};

TEST_F(Service, IsAskedAgainIfItIsSilentOrClosesTheConnection) {
  reply = [](int before) {
    if (before == 0) return TestHttpReply{};  // silence
    if (before == 1) return TestHttpReply{.then = TestHttpReply::Then::kReset};
    return test_reply(200);
  };
  const auto answer = ask({.patience = milliseconds(100)});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(requests, 3);
}

TEST_F(Service, IsAskedThreeTimesAtMost) {
  reply = [](int) { return TestHttpReply{.then = TestHttpReply::Then::kReset}; };
  const auto answer = ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_EQ(requests, 3);
}

TEST_F(Service, IsAskedOnceIfAnotherAnswerIsNotToBeExpected) {
  reply = [](int) { return test_reply(404); };
  EXPECT_EQ(ask()->status, 404);
  EXPECT_EQ(requests, 1);
}

TEST_F(Service, ThatAnswersTooMuchIsRefused) {
  std::size_t bytes = kMaxAnswerBytes;
  reply = [&](int) { return test_reply(200, std::string(bytes, 'x')); };
  EXPECT_TRUE(ask());
  ++bytes;
  const auto answer = ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kDataLoss);
}

TEST_F(Service, IsNotAskedAgainOnceTheCallerStops) {
  std::stop_source stop;
  reply = [](int) { return test_reply(503); };
  std::jthread stopper([&] {
    while (requests == 0) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(30));  // the pause lasts 100 ms or more
    stop.request_stop();
  });
  const auto answer = ask({.stop = stop.get_token()});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kCancelled);
  EXPECT_EQ(requests, 1);
}

TEST_F(Service, IsReachedThroughItsProxy) {
  reply = [](int) { return test_reply(407); };
  const HttpProxy proxy{.endpoint = server.endpoint(), .source = "HTTPS_PROXY"};
  const auto answer = ask_service({.endpoint = {.host = "sts.example"}}, "", {.for_https = proxy}, {});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("requires a name and a password"));
  EXPECT_EQ(requests, 1);
}

TEST(ServiceOverTls, IsAcceptedWithACertificateOfTheGivenAuthorities) {
  const TestCertificate certificate = make_test_certificate("IP:127.0.0.1");
  HttpTestServer server([](const TestHttpRequest&) { return test_reply(200); }, {.tls = certificate});
  const TemporaryFile authorities(certificate.certificate);
  EXPECT_TRUE(ask_service({.endpoint = server.endpoint()}, authorities.path(), {}, {}));
  EXPECT_EQ(ask_service({.endpoint = server.endpoint()}, "", {}, {}).error().code, Code::kUnauthenticated);
}

TEST(TokenFile, IsReadWithoutWhiteSpaceAroundIt) {
  EXPECT_EQ(*read_token_file(TemporaryFile(" token \n").path()), "token");
  EXPECT_TRUE(read_token_file(TemporaryFile(std::string(64 << 10, 'x')).path()));
}

TEST(TokenFile, OfNoUseIsRefused) {
  for (const std::string& text : {std::string(), std::string(" \n"), std::string((64 << 10) + 1, 'x')})
    EXPECT_EQ(read_token_file(TemporaryFile(text).path()).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(read_token_file("/nowhere/at/all").error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace headrace

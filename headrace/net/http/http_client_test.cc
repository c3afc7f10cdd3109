#include "headrace/net/http/http_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Then = TestHttpReply::Then;

std::string body_of(const HttpResponse& response) { return to_string(response.body); }

TEST(HttpClient, SendsTheRequestAndReadsTheAnswer) {
  HttpTestServer server([](const TestHttpRequest& request) {
    return test_reply(200, concat(request.method, ' ', request.target, ' ', request.header("X-A"), ' ',
                                  request.header("Content-Length"), ' ', request.body));
  });
  HttpClient client({});
  const auto response = client.perform({.endpoint = server.endpoint(),
                                        .method = "PUT",
                                        .target = "/a%20b?c=d",
                                        .headers = {{"X-A", "y"}},
                                        .body = as_bytes("body")});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(body_of(*response), "PUT /a%20b?c=d y 4 body");
}

TEST(HttpClient, KeepsItsConnectionBetweenRequests) {
  HttpTestServer server([](const TestHttpRequest& request) { return test_reply(404, request.target); });
  HttpClient client({});
  for (int i = 0; i < 5; ++i) ASSERT_EQ(client.perform({.endpoint = server.endpoint()})->status, 404);
  EXPECT_EQ(server.accepted_connections(), 1);
}

TEST(HttpClient, AConnectionWithBytesBehindTheAnswerIsNotUsedAgain) {
  const std::string forged = test_reply(200, "forged").bytes;
  for (const std::string& surplus : {std::string("x"), forged}) {
    for (const bool chunked : {false, true}) {
      HttpTestServer server([&](const TestHttpRequest& request) {
        TestHttpReply reply = test_reply(200, request.target);
        if (chunked)
          reply.bytes = concat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n", request.target,
                               "\r\n0\r\n\r\n");
        reply.bytes += surplus;
        return reply;
      });
      HttpClient client({});
      for (const char* target : {"/a", "/b", "/c"}) {
        const auto response = client.perform({.endpoint = server.endpoint(), .target = target});
        ASSERT_TRUE(response) << response.error().message;
        EXPECT_EQ(body_of(*response), target);
      }
      EXPECT_EQ(server.accepted_connections(), 3);
    }
  }
}

TEST(HttpClient, ReadsABodyIntoTheCallersMemory) {
  std::string content(300'000, 'x');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>('a' + i % 23);
  for (const bool chunked : {false, true}) {
    HttpTestServer server([&](const TestHttpRequest&) {
      if (!chunked) return test_reply(206, content);
      return TestHttpReply{
          concat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n493e0\r\n", content, "\r\n0\r\n\r\n")};
    });
    HttpClient client({});
    Bytes target(400'000);
    const auto response =
        client.perform({.endpoint = server.endpoint(), .target_memory = target, .with_crc32c = true});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body_bytes, content.size());
    EXPECT_EQ(response->body_crc32c, crc32c(as_bytes(content)));
    EXPECT_TRUE(response->body.empty());
    EXPECT_EQ(as_text(target).substr(0, content.size()), content);
    target.resize(content.size() - 1);
    const auto too_small = client.perform({.endpoint = server.endpoint(), .target_memory = target});
    ASSERT_FALSE(too_small);
    EXPECT_EQ(too_small.error().code, Code::kDataLoss);
  }
}

// The client must never wait for more bytes than will come: many in a long body, a few at the end of a chunk
// and in the next answer.
TEST(HttpClient, WaitsForNoMoreThanWillCome) {
  const std::string large(700'000, 'l'), small(10, 's');
  HttpTestServer server([&](const TestHttpRequest& request) {
    TestHttpReply reply = test_reply(200, large);
    if (request.target == "/small") reply = test_reply(200, small);
    if (request.target == "/chunked")
      reply.bytes = concat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "aae60\r\n", large,
                           "\r\na\r\n", small, "\r\n0\r\n\r\n");
    reply.piece_bytes = 10'000;
    return reply;
  });
  HttpClient client({});
  Bytes target(large.size() + small.size());
  const std::vector<std::pair<std::string, std::string>> answers = {
      {"/plain", large}, {"/small", small}, {"/chunked", large + small}, {"/small", small}};
  for (const auto& [path, expected] : answers) {
    const auto response = client.perform({.endpoint = server.endpoint(),
                                          .target = path,
                                          .target_memory = target,
                                          .stall_timeout = std::chrono::seconds(20)});
    ASSERT_TRUE(response) << path << ": " << response.error().message;
    EXPECT_TRUE(as_text(target).substr(0, response->body_bytes) == expected) << path;
  }
  EXPECT_EQ(server.accepted_connections(), 1);
}

TEST(HttpClient, ATrickleIsProgressOnlyWhereItIsExpected) {
  HttpTestServer server([](const TestHttpRequest&) {
    TestHttpReply reply = test_reply(200, std::string(2'500, ' '));  // 2.5 s at least
    reply.piece_bytes = 1;
    return reply;
  });
  HttpClient client({});
  HttpRequest request{.endpoint = server.endpoint(), .stall_timeout = std::chrono::seconds(1)};
  const auto stalled = client.perform(request);
  ASSERT_FALSE(stalled);
  EXPECT_EQ(stalled.error().code, Code::kDeadlineExceeded);
  request.trickle_time = std::chrono::minutes(5);
  const auto response = client.perform(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body.size(), 2'500U);
}

TEST(HttpClient, LeavesTheCallersMemoryAloneWhenTheAnswerIsAnError) {
  HttpTestServer server([](const TestHttpRequest&) { return test_reply(404, "reason"); });
  HttpClient client({});
  Bytes target = to_bytes("0123456789");
  const auto response = client.perform({.endpoint = server.endpoint(), .target_memory = target});
  EXPECT_EQ(body_of(*response), "reason");
  EXPECT_EQ(as_text(target), "0123456789");
}

TEST(HttpClient, BoundsTheBodyItHolds) {
  HttpTestServer server([](const TestHttpRequest& request) {
    const std::string body(10'000, 'x');
    return request.target == "/sized" ? test_reply(200, body)
                                      : TestHttpReply{"HTTP/1.1 200 OK\r\n\r\n" + body, Then::kClose};
  });
  HttpClient client({});
  for (const char* target : {"/sized", "/until-close"}) {
    const auto response =
        client.perform({.endpoint = server.endpoint(), .target = target, .max_body_bytes = 9'999});
    ASSERT_FALSE(response) << target;
    EXPECT_THAT(response.error().message, HasSubstr("longer than the 9999 bytes"));
    EXPECT_TRUE(client.perform({.endpoint = server.endpoint(), .target = target, .max_body_bytes = 10'000}));
  }
}

TEST(HttpClient, AConnectionClosedWhileIdleIsReplaced) {
  // Closes each connection after its first answer, without announcing it.
  HttpTestServer server([](const TestHttpRequest&) {
    TestHttpReply reply = test_reply(200, "x");
    reply.then = Then::kClose;
    return reply;
  });
  HttpClient client({});
  for (int i = 0; i < 20; ++i) {
    const auto response =
        client.perform({.endpoint = server.endpoint(), .method = "PUT", .body = as_bytes("data")});
    ASSERT_TRUE(response) << response.error().message;
  }
}

TEST(HttpClient, RepeatsOnAStaleConnectionOnlyWhatMayBeRepeated) {
  // The second request of each connection is swallowed: the connection is closed instead of answered.
  std::atomic<int> requests_of_connection[8] = {};
  HttpTestServer server([&](const TestHttpRequest& request) {
    if (requests_of_connection[request.connection]++ == 1) return TestHttpReply{"", Then::kClose};
    return test_reply(200, "x");
  });
  HttpClient client({});
  ASSERT_TRUE(client.perform({.endpoint = server.endpoint()}));
  ASSERT_TRUE(client.perform({.endpoint = server.endpoint()})) << "sent again on a second connection";
  EXPECT_EQ(server.accepted_connections(), 2);
  EXPECT_EQ(client.counters(server.endpoint()).resent, 1U);
  EXPECT_EQ(client.counters(server.endpoint()).requests, 3U);
  const auto once = client.perform({.endpoint = server.endpoint(), .method = "POST", .repeatable = false});
  ASSERT_FALSE(once);
  EXPECT_EQ(once.error().code, Code::kUnavailable);
  EXPECT_EQ(client.counters(server.endpoint()).resent, 1U);
}

struct Cut {
  std::string name;
  TestHttpReply reply;
  std::string when{};  // as the message says; after a reset, what was sent before may be lost
};
class CutAnswer : public testing::TestWithParam<Cut> {};

TEST_P(CutAnswer, IsAnErrorThatMayBeRetried) {
  HttpTestServer server([](const TestHttpRequest&) { return GetParam().reply; });
  HttpClient client({});
  Bytes target(100);
  for (const MutableBytesView memory : {MutableBytesView(), MutableBytesView(target)}) {
    const auto response = client.perform({.endpoint = server.endpoint(), .target_memory = memory});
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::kUnavailable) << response.error().message;
    EXPECT_THAT(response.error().message, HasSubstr(server.endpoint().text()));
    EXPECT_THAT(response.error().message, HasSubstr(GetParam().when));
  }
}

INSTANTIATE_TEST_SUITE_P(
    HttpClient, CutAnswer,
    testing::Values(
        Cut{"Nothing", {"", Then::kClose}, "waiting for the answer"},
        Cut{"Reset", {"", Then::kReset}, "waiting for the answer"},
        Cut{"WithinTheHead", {"HTTP/1.1 200 OK\r\nConte", Then::kClose}, "reading the head of the answer"},
        Cut{"WithinTheBody", {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345678", Then::kClose}},
        Cut{"ResetWithinTheBody", {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234", Then::kReset}},
        Cut{"BeforeTheBody", {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Then::kClose}},
        Cut{"ChunksWithoutEnd",
            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", Then::kClose}}),
    [](const auto& test) { return test.param.name; });

TEST(HttpClient, RefusesAnAnswerThatIsNotHttp) {
  HttpTestServer server([](const TestHttpRequest&) { return TestHttpReply{"220 mail.example ESMTP\r\n"}; });
  HttpClient client({});
  const auto response = client.perform({.endpoint = server.endpoint()});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kDataLoss);
  EXPECT_THAT(response.error().message, HasSubstr("another protocol"));
}

TEST(HttpClient, AsksBeforeItSendsABody) {
  std::atomic<int> bodies{0};
  HttpTestServer server(
      [&](const TestHttpRequest& request) { return ++bodies, test_reply(200, concat(request.body.size())); },
      {.before_body = [](const TestHttpRequest& request) -> std::optional<TestHttpReply> {
        if (request.target == "/refused") return test_reply(412, "no");
        return std::nullopt;
      }});
  HttpClient client({});
  const Bytes body(5 << 20);
  HttpRequest request{.endpoint = server.endpoint(), .method = "PUT", .body = body, .expect_continue = true};
  const auto accepted = client.perform(request);
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_EQ(body_of(*accepted), concat(body.size()));
  request.target = "/refused";
  const auto refused = client.perform(request);
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->status, 412);
  EXPECT_EQ(bodies, 1);
}

// A server without HTTP: accepts, writes `bytes`, never reads, until destroyed.
class RawServer {
 public:
  // Says `bytes` to who connects; then, if there is a `last` word, takes in as much as that comes after.
  explicit RawServer(std::string bytes, std::size_t takes_in = 0, std::string last = "")
      : bytes_(std::move(bytes)), takes_in_(takes_in), last_(std::move(last)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      EXPECT_EQ(::send(fd, bytes_.data(), bytes_.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes_.size()));
      std::vector<char> sink(1 << 16);
      for (std::size_t left = takes_in_; left > 0;) {
        const ssize_t got = ::recv(fd, sink.data(), std::min(left, sink.size()), 0);
        if (got <= 0) break;
        left -= static_cast<std::size_t>(got);
      }
      EXPECT_EQ(::send(fd, last_.data(), last_.size(), MSG_NOSIGNAL), static_cast<ssize_t>(last_.size()));
      done_.wait(false);
      ::close(fd);
    });
  }
  ~RawServer() {
    done_ = true;
    done_.notify_all();
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  HttpEndpoint endpoint() const { return {.tls = false, .host = "127.0.0.1", .port = port_}; }

 private:
  const std::string bytes_;
  const std::size_t takes_in_;
  const std::string last_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port_ = 0;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST(HttpClient, AnAnswerBeforeTheBodyIsSentEndsTheSending) {
  RawServer server("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  HttpClient client({});
  const Bytes body(64 << 20);  // more than both sockets' buffers hold
  const auto response = client.perform({.endpoint = server.endpoint(), .method = "PUT", .body = body});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 403);
  EXPECT_EQ(body_of(*response), "no");
}

TEST(HttpClient, AnInterimAnswerWhileTheBodyIsSentIsNoEnd) {
  const Bytes body(64 << 20);
  for (const bool asks_first : {false, true}) {
    RawServer server("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", body.size(),
                     "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
    HttpClient client({});
    const auto response = client.perform(
        {.endpoint = server.endpoint(), .method = "PUT", .body = body, .expect_continue = asks_first});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 200);
  }
}

TEST(HttpClient, GivesUpOnAServerThatSaysNothing) {
  for (const char* bytes : {"", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123"}) {
    RawServer server(bytes);
    HttpClient client({});
    const auto response = client.perform({.endpoint = server.endpoint(), .stall_timeout = milliseconds(50)});
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::kDeadlineExceeded) << response.error().message;
    EXPECT_THAT(response.error().message, HasSubstr("no progress for 50 ms"));
  }
}

TEST(HttpClient, EndsAtOnceWhenStopped) {
  RawServer server("");
  HttpClient client({});
  std::stop_source source;
  std::jthread stopper([&] { source.request_stop(); });
  const auto response = client.perform(
      {.endpoint = server.endpoint(), .stall_timeout = std::chrono::hours(1)}, source.get_token());
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kCancelled);
}

TEST(HttpClient, SaysWhichEndpointCannotBeReached) {
  std::string gone;
  {
    HttpTestServer server([](const TestHttpRequest&) { return test_reply(200); });
    gone = server.endpoint().text();
  }
  HttpClient client({});
  const auto refused = client.perform({.endpoint = *parse_http_endpoint(gone)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot connect to " + gone + ": Connection refused"));
  const auto unknown = client.perform({.endpoint = *parse_http_endpoint("http://no-such-host.invalid")});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUnavailable);
  EXPECT_THAT(unknown.error().message, HasSubstr("cannot resolve \"no-such-host.invalid\""));
}

TEST(HttpClient, SpeaksIpv6) {
  for (const bool tls : {false, true}) {
    TestHttpServerOptions options{.ipv6 = true};
    if (tls) options.tls = make_test_certificate("IP:::1");
    HttpTestServer server(
        [](const TestHttpRequest& request) { return test_reply(200, request.header("Host")); }, options);
    HttpClient client({.tls = {.verify = false}});
    const auto response = client.perform({.endpoint = server.endpoint()});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(body_of(*response), concat("[::1]:", server.endpoint().port));
  }
}

TEST(HttpClient, AServerThatShakesNoHandsIsGivenUp) {
  RawServer silent("");
  HttpEndpoint endpoint = silent.endpoint();
  endpoint.tls = true;
  HttpClient client({.tls = {.verify = false}});
  const auto response = client.perform({.endpoint = endpoint, .stall_timeout = milliseconds(50)});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kDeadlineExceeded) << response.error().message;
}

// While it lives, no further file can be opened.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);  // the lowest number that is free
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(HttpClient, WhereNoFileCanBeOpenedItSaysSoAndGoesOnLater) {
  HttpTestServer server([](const TestHttpRequest&) { return test_reply(200); });
  HttpClient client({});
  const auto refused = [&] {
    const NoMoreFiles exhausted;  // not longer: sanitizers need some, too
    return client.perform({.endpoint = server.endpoint()});
  }();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("Too many open files"));
  EXPECT_TRUE(client.perform({.endpoint = server.endpoint()}));
}

TEST(HttpClient, TriesEveryAddressOfAHost) {
  // localhost is ::1 and 127.0.0.1 where the machine has both; the server listens on the second only.
  HttpTestServer server([](const TestHttpRequest&) { return test_reply(200); });
  HttpEndpoint endpoint = server.endpoint();
  endpoint.host = "localhost";
  HttpClient client({});
  const auto response = client.perform({.endpoint = endpoint});
  ASSERT_TRUE(response) << response.error().message;
}

TEST(HttpClient, RefusesLineBreaksInARequest) {
  HttpTestServer server([](const TestHttpRequest&) { return test_reply(200); });
  HttpClient client({});
  const HttpEndpoint endpoint = server.endpoint();
  for (const HttpRequest& request : {HttpRequest{.endpoint = endpoint, .target = "/a\r\nX: y"},
                                     HttpRequest{.endpoint = endpoint, .target = "/a b"},
                                     HttpRequest{.endpoint = endpoint, .method = "GET\r\n"},
                                     HttpRequest{.endpoint = endpoint, .target = "a"},
                                     HttpRequest{.endpoint = endpoint, .headers = {{"A", "b\r\nC: d"}}},
                                     HttpRequest{.endpoint = endpoint, .headers = {{"A: b\r\nC", "d"}}}}) {
    const auto response = client.perform(request);
    ASSERT_FALSE(response) << request.target;
    EXPECT_EQ(response.error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(server.accepted_connections(), 0);
}

TEST(HttpClient, ManyThreadsShareABoundedNumberOfConnections) {
  std::atomic<int> running{0}, most{0};
  HttpTestServer server([&](const TestHttpRequest& request) {
    const int now = ++running;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    TestHttpReply reply = test_reply(200, request.body);
    --running;
    return reply;
  });
  HttpClient client({.max_connections = 3});
  const Status all = parallel_for(16, 400, [&](std::size_t i) -> Status {
    const std::string body = concat("request ", i);
    HEADRACE_TRY(const HttpResponse response,
                 client.perform({.endpoint = server.endpoint(), .method = "PUT", .body = as_bytes(body)}));
    if (body_of(response) != body)
      return Error{Code::kInternal, "another request's answer: " + body_of(response)};
    return {};
  });
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_LE(most, 3);
  EXPECT_LE(server.accepted_connections(), 3);
}

TEST(HttpClient, AWaitForAConnectionIsBounded) {
  RawServer server("");
  HttpClient client({.max_connections = 1});
  std::stop_source source;
  std::jthread holder([&] {
    EXPECT_FALSE(client.perform({.endpoint = server.endpoint(), .stall_timeout = std::chrono::hours(1)},
                                source.get_token()));
  });
  const auto response = [&] {
    while (true) {  // until the holder has the connection
      auto tried = client.perform({.endpoint = server.endpoint(), .stall_timeout = milliseconds(20)});
      if (tried.error().message.find("busy") != std::string::npos) return tried;
    }
  }();
  source.request_stop();
  EXPECT_EQ(response.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(response.error().message,
              HasSubstr("all 1 concurrent requests to the server were busy for 20 ms"));
}

TEST(HttpClient, WhatWasAnsweredInPartOrNotInTimeIsNotSentAgain) {
  std::atomic<bool> is_over{false};
  for (const bool begins_to_answer : {true, false}) {
    is_over = false;
    std::atomic<int> requests = 0;
    HttpTestServer server([&](const TestHttpRequest&) {
      if (++requests == 1) return test_reply(200, "x");
      if (!begins_to_answer) is_over.wait(false);
      return TestHttpReply{begins_to_answer ? "HTTP/1.1 2" : "", Then::kClose};
    });
    HttpClient client({});
    ASSERT_TRUE(client.perform({.endpoint = server.endpoint()}));
    const auto second =
        client.perform({.endpoint = server.endpoint(),
                        .stall_timeout = begins_to_answer ? milliseconds(20'000) : milliseconds(50)});
    is_over = true;
    is_over.notify_all();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, begins_to_answer ? Code::kUnavailable : Code::kDeadlineExceeded);
    EXPECT_EQ(server.accepted_connections(), 1);
    EXPECT_EQ(client.counters(server.endpoint()).resent, 0U);
  }
}

TEST(HttpClient, AConnectionWhoseAnswerWasGivenUpIsNotUsedAgain) {
  std::atomic<bool> may_answer{false}, was_asked{false};
  HttpTestServer server([&](const TestHttpRequest& request) {
    if (request.target == "/first") {
      was_asked = true;
      was_asked.notify_all();
      may_answer.wait(false);
    }
    return test_reply(200, request.target);
  });
  HttpClient client({});
  std::stop_source source;
  std::jthread stopper([&] {
    was_asked.wait(false);
    source.request_stop();
  });
  EXPECT_EQ(
      client.perform({.endpoint = server.endpoint(), .target = "/first"}, source.get_token()).error().code,
      Code::kCancelled);
  may_answer = true;
  may_answer.notify_all();
  const auto second = client.perform({.endpoint = server.endpoint(), .target = "/second"});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(body_of(*second), "/second");
  EXPECT_EQ(server.accepted_connections(), 2);
}

TEST(HttpClient, TheShorterOfTwoLimitsHoldsForConnecting) {
  for (const bool is_of_client : {true, false}) {
    RawServer silent("");
    HttpEndpoint endpoint = silent.endpoint();
    endpoint.tls = true;
    const milliseconds brief(50), long_time(20'000);
    HttpClient client({.connect_timeout = is_of_client ? brief : long_time, .tls = {.verify = false}});
    const auto late =
        client.perform({.endpoint = endpoint, .stall_timeout = is_of_client ? long_time : brief});
    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().message, HasSubstr("no TLS handshake within 50 ms"));
  }
}

TEST(HttpClient, AServerMayAskForAProxysPassword) {
  HttpTestServer server([](const TestHttpRequest&) { return test_reply(407, "who are you?"); });
  HttpClient client({});
  const auto answer = client.perform({.endpoint = server.endpoint()});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 407);
}

}  // namespace
}  // namespace headrace

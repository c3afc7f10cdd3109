#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/net/http/http_client.h"
#include "headrace/net/http/http_test_server.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::ElementsAre;

HttpTransfers::Done keep(std::vector<int>& statuses) {
  return [&](const Result<HttpResponse>& response) {
    statuses.push_back(response ? response->status : -static_cast<int>(response.error().code));
  };
}

TEST(HttpTransfers, ManyRequestsAreInFlightOnOneThread) {
  std::latch all_are_there(8);
  HttpTestServer server([&](const TestHttpRequest&) {
    all_are_there.arrive_and_wait();
    return test_reply(200, "x");
  });
  HttpClient client({});
  HttpTransfers transfers(client, {});
  const HttpRequest request{.endpoint = server.endpoint()};
  std::vector<int> statuses;
  for (int i = 0; i < 8; ++i) transfers.start(request, keep(statuses));
  transfers.run();
  EXPECT_EQ(statuses.size(), 8U);
  EXPECT_THAT(statuses, Each(200));
}

TEST(HttpTransfers, RequestsWaitForAConnectionInTheirOrder) {
  HttpTestServer server([&](const TestHttpRequest&) { return test_reply(200, "x"); });
  HttpClient client({.max_connections = 2});
  HttpTransfers transfers(client, {});
  const HttpRequest request{.endpoint = server.endpoint()};
  std::vector<int> statuses;
  for (int i = 0; i < 20; ++i) transfers.start(request, keep(statuses));
  transfers.run();
  EXPECT_EQ(statuses.size(), 20U);
  EXPECT_THAT(statuses, Each(200));
  EXPECT_LE(server.accepted_connections(), 2);
}

TEST(HttpTransfers, OneThreadsEndLetsAnotherBegin) {
  HttpTestServer server([&](const TestHttpRequest&) { return test_reply(200, "x"); });
  HttpClient client({.max_connections = 1});
  const HttpRequest request{.endpoint = server.endpoint()};
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      HttpTransfers transfers(client, {});
      for (int i = 0; i < 25; ++i) {
        transfers.start(request, [&](const Result<HttpResponse>& response) { good += response.has_value(); });
      }
      transfers.run();
    });
  }
  threads.clear();
  EXPECT_EQ(good, 100);
}

TEST(HttpTransfers, WhatIsStartedByAnAnswerIsWaitedFor) {
  HttpTestServer server([&](const TestHttpRequest& request) { return test_reply(200, request.target); });
  HttpClient client({});
  HttpTransfers transfers(client, {});
  const HttpRequest first{.endpoint = server.endpoint(), .target = "/1"};
  const HttpRequest second{.endpoint = server.endpoint(), .target = "/2"};
  std::vector<std::string> bodies;
  transfers.start(first, [&](const Result<HttpResponse>& one) {
    bodies.push_back(to_string(one->body));
    transfers.after(milliseconds(1), [&] {
      transfers.start(second,
                      [&](const Result<HttpResponse>& two) { bodies.push_back(to_string(two->body)); });
    });
  });
  transfers.run();
  EXPECT_THAT(bodies, ElementsAre("/1", "/2"));
}

TEST(HttpTransfers, PausesEndInTheOrderOfTheirTimes) {
  HttpClient client({});
  HttpTransfers transfers(client, {});
  std::vector<int> ended;
  transfers.after(milliseconds(40), [&] { ended.push_back(40); });
  transfers.after(milliseconds(1), [&] { ended.push_back(1); });
  transfers.run();
  EXPECT_THAT(ended, ElementsAre(1, 40));
}

TEST(HttpTransfers, AStopEndsRequestsAndPausesAtOnce) {
  std::latch asked(1);
  std::latch may_answer(1);
  HttpTestServer server([&](const TestHttpRequest&) {
    asked.count_down();
    may_answer.wait();
    return test_reply(200, "x");
  });
  HttpClient client({.max_connections = 1});
  std::stop_source source;
  std::jthread stopper([&] {
    asked.wait();
    source.request_stop();
  });
  std::vector<int> statuses;
  {
    HttpTransfers transfers(client, source.get_token());
    const HttpRequest request{.endpoint = server.endpoint(), .stall_timeout = std::chrono::hours(1)};
    transfers.start(request, keep(statuses));
    transfers.start(request, keep(statuses));
    transfers.after(std::chrono::hours(1), [&] { transfers.start(request, keep(statuses)); });
    transfers.run();
  }
  may_answer.count_down();
  EXPECT_EQ(statuses.size(), 3U);
  EXPECT_THAT(statuses, Each(-static_cast<int>(Code::kCancelled)));
}

TEST(HttpTransfers, WhatIsNotRunIsGivenUp) {
  HttpTestServer server([&](const TestHttpRequest&) { return test_reply(200, "x"); });
  HttpClient client({.max_connections = 1});
  const HttpRequest request{.endpoint = server.endpoint()};
  std::vector<int> statuses;
  { HttpTransfers(client, {}).start(request, keep(statuses)); }
  EXPECT_THAT(statuses, ElementsAre());
  EXPECT_TRUE(client.perform(request));
}

// Answers with the path asked for; withholds the first answers to "/late" until the end of the test.
class LateServer {
 public:
  explicit LateServer(int withheld, TestHttpServerOptions options = {})
      : server_(
            [this, withheld](const TestHttpRequest& request) {
              if (request.target == "/late" && late_++ < withheld) may_answer_.wait();
              return test_reply(206, request.target);
            },
            std::move(options)) {}
  ~LateServer() { may_answer_.count_down(); }
  HttpEndpoint endpoint() const { return server_.endpoint(); }

 private:
  std::latch may_answer_{1};
  std::atomic<int> late_ = 0;
  HttpTestServer server_;
};

// The text of the answer to a read.
std::string read_text(HttpClient& client, const HttpEndpoint& endpoint, std::string_view path) {
  Bytes target(8);
  const auto response = client.perform({.endpoint = endpoint,
                                        .target = std::string(path),
                                        .target_memory = target,
                                        .stall_timeout = std::chrono::seconds(20)});
  EXPECT_TRUE(response) << response.error().message;
  return response ? std::string(as_text(target).substr(0, response->body_bytes)) : "";
}

// Enough reads, one after the other, that the client knows what is usual.
void read_usual(HttpClient& client, const HttpEndpoint& endpoint) {
  for (int i = 0; i < 200; ++i) EXPECT_EQ(read_text(client, endpoint, "/usual"), "/usual");
}

TEST(HttpTransfers, AnUnusuallyLateReadIsSentASecondTime) {
  LateServer server(1);
  HttpClient client({});
  read_usual(client, server.endpoint());
  EXPECT_EQ(read_text(client, server.endpoint(), "/late"), "/late");
  EXPECT_GE(client.counters(server.endpoint()).hedges, 1U);
  EXPECT_LE(client.counters(server.endpoint()).hedges, 201U / 20 + 1);
}

// Where the second request overtakes the first on its way, it is the one that the server withholds.
TEST(HttpTransfers, ItIsCountedThatTheSecondWasAnsweredFirst) {
  std::uint64_t won = 0;
  for (int attempts = 0; won == 0 && attempts < 10; ++attempts) {
    LateServer server(1);
    HttpClient client({});
    read_usual(client, server.endpoint());
    const std::uint64_t before = client.counters(server.endpoint()).hedges_won;
    read_text(client, server.endpoint(), "/late");
    won = client.counters(server.endpoint()).hedges_won - before;
  }
  EXPECT_GE(won, 1U);
}

TEST(HttpTransfers, SoItIsOverTls) {
  LateServer server(1, {.tls = make_test_certificate("IP:127.0.0.1")});
  HttpClient client({.tls = {.verify = false}});
  read_usual(client, server.endpoint());
  EXPECT_EQ(read_text(client, server.endpoint(), "/late"), "/late");
  EXPECT_GE(client.counters(server.endpoint()).hedges, 1U);
}

TEST(HttpTransfers, AndAThirdTimeIfThatIsLateToo) {
  LateServer server(2);
  HttpClient client({});
  read_usual(client, server.endpoint());
  EXPECT_EQ(read_text(client, server.endpoint(), "/late"), "/late");
  EXPECT_LE(client.counters(server.endpoint()).hedges, 201U / 20 + 1);
}

TEST(HttpTransfers, OfTwoAttemptsADefiniteAnswerWinsThoughItIsNoSuccess) {
  std::latch second_came(1), may_end(1);
  std::atomic<int> late = 0;
  HttpTestServer server([&](const TestHttpRequest& request) {
    if (request.target != "/late") return test_reply(206, request.target);
    const int number = late++;
    if (number == 0) {
      second_came.wait();
      return test_reply(404, "none");
    }
    if (number == 1) second_came.count_down();
    may_end.wait();
    return test_reply(404, "none");
  });
  HttpClient client({});
  read_usual(client, server.endpoint());
  Bytes target(8);
  const auto answer = client.perform({.endpoint = server.endpoint(),
                                      .target = "/late",
                                      .target_memory = target,
                                      .stall_timeout = std::chrono::seconds(20)});
  const bool was_hedged = late >= 2;
  if (!was_hedged) second_came.count_down();
  may_end.count_down();
  ASSERT_TRUE(was_hedged);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 404);
}

// A thread whose callback takes long while it is first in the queue.
TEST(HttpTransfers, WhoGivesWayKeepsNobodyWaiting) {
  HttpTestServer server([&](const TestHttpRequest&) { return test_reply(200, "x"); });
  HttpClient client({.max_connections = 1});
  const HttpRequest request{.endpoint = server.endpoint(), .stall_timeout = std::chrono::seconds(20)};
  std::latch other_is_done(1);
  HttpTransfers transfers(client, {});
  std::vector<int> statuses;
  int callbacks = 0;
  std::jthread other;
  const auto done = [&](const Result<HttpResponse>& response) {
    statuses.push_back(response ? response->status : 0);
    if (callbacks++ != 0) return;
    transfers.give_way();
    other = std::jthread([&] {
      EXPECT_TRUE(client.perform(request));
      other_is_done.count_down();
    });
    other_is_done.wait();
  };
  for (int i = 0; i < 3; ++i) transfers.start(request, done);
  transfers.run();
  EXPECT_THAT(statuses, ElementsAre(200, 200, 200));
}

TEST(HttpTransfers, WhatHasAnEffectIsNotSentASecondTime) {
  HttpTestServer server([&](const TestHttpRequest& request) {
    if (request.target == "/late") std::this_thread::sleep_for(milliseconds(300));
    return test_reply(200, "");
  });
  HttpClient client({});
  HttpRequest request{.endpoint = server.endpoint(), .method = "PUT"};
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.perform(request));
  request.target = "/late";
  ASSERT_TRUE(client.perform(request));
  EXPECT_EQ(client.counters(server.endpoint()).hedges, 0U);
  EXPECT_EQ(client.counters(server.endpoint()).requests, 101U);
}

TEST(HttpTransfers, AnErrorNamesMethodAndEndpoint) {
  HttpClient client({});
  HttpTransfers transfers(client, {});
  const HttpRequest wrong{.endpoint = {.tls = false, .host = "store.example", .port = 9000}, .target = "key"};
  std::string message;
  transfers.start(wrong, [&](const Result<HttpResponse>& response) { message = response.error().message; });
  transfers.run();
  EXPECT_EQ(message,
            "GET to http://store.example:9000: a control character in the method, target or a header field");
}

TEST(HttpTransfers, ControlCharactersAreRefusedAndNothingElse) {
  HttpTestServer server([&](const TestHttpRequest& request) { return test_reply(200, request.header("A")); });
  HttpClient client({});
  HttpRequest request{.endpoint = server.endpoint(), .target = "/!~\x80", .headers = {{"A", "b c\x80"}}};
  const auto taken = client.perform(request);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(as_text(taken->body), "b c\x80");
  for (const char* value : {"\x1f", "\x7f", "\r"}) {
    request.headers[0].value = value;
    EXPECT_FALSE(client.perform(request));
  }
  request.headers[0] = {"", "b"};
  EXPECT_FALSE(client.perform(request));
  request.headers[0] = {"A b", "c"};
  EXPECT_FALSE(client.perform(request));
  request.headers.clear();
  request.method = "";
  EXPECT_FALSE(client.perform(request));
}

TEST(HttpTransfers, AnswersAreCounted) {
  HttpTestServer server([&](const TestHttpRequest& request) {
    return test_reply(request.target == "/busy" ? 503 : 200, request.body);
  });
  HttpClient client({});
  const HttpEndpoint endpoint = server.endpoint();
  ASSERT_TRUE(client.perform({.endpoint = endpoint, .method = "PUT", .body = as_bytes("1234567")}));
  EXPECT_EQ(client.counters(endpoint).answers, 1U);
  EXPECT_EQ(client.counters(endpoint).moved_bytes, 14U) << "both ways";
  EXPECT_EQ(client.counters(endpoint).overloads, 0U);
  ASSERT_TRUE(client.perform({.endpoint = endpoint, .target = "/busy"}));
  EXPECT_EQ(client.counters(endpoint).answers, 2U);
  EXPECT_EQ(client.counters(endpoint).overloads, 1U);
  EXPECT_EQ(client.counters(endpoint).requests, 2U);
}

TEST(HttpTransfers, ALoopThatIsGivenUpLeavesTheQueue) {
  HttpTestServer server([&](const TestHttpRequest&) { return test_reply(200, "x"); });
  HttpClient client({.max_connections = 1});
  const HttpRequest request{.endpoint = server.endpoint(), .stall_timeout = std::chrono::seconds(20)};
  std::vector<int> statuses;
  std::stop_source source;
  // While the place is taken, another loop queues for it, is stopped, and ends.
  std::latch asked(1), may_answer(1);
  HttpTestServer slow([&](const TestHttpRequest&) {
    asked.count_down();
    may_answer.wait();
    return test_reply(200, "x");
  });
  std::jthread holder([&] {
    EXPECT_TRUE(client.perform({.endpoint = slow.endpoint(), .stall_timeout = std::chrono::seconds(20)}));
  });
  asked.wait();
  {
    HttpTransfers waiting(client, source.get_token());
    waiting.start(request, keep(statuses));
    waiting.after(milliseconds(1), [&] { source.request_stop(); });
    waiting.run();
  }
  EXPECT_THAT(statuses, ElementsAre(-static_cast<int>(Code::kCancelled)));
  may_answer.count_down();
  holder.join();
  EXPECT_TRUE(client.perform(request)) << "nobody is in front of it";
}

TEST(HttpTransfers, AReadThatMayNotBeRepeatedIsNotSentASecondTime) {
  LateServer server(1);
  HttpClient client({});
  read_usual(client, server.endpoint());
  Bytes target(8);
  const auto late = client.perform({.endpoint = server.endpoint(),
                                    .target = "/late",
                                    .target_memory = target,
                                    .repeatable = false,
                                    .stall_timeout = milliseconds(300)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
}

TEST(HttpTransfers, AnAttemptThatIsRefusedForItsLoadLeavesTheOtherOne) {
  HttpClient client({});
  std::atomic<int> late = 0;
  std::atomic<bool> is_over{false};
  HttpEndpoint endpoint;
  std::latch is_known(1);
  HttpTestServer server([&](const TestHttpRequest& request) {
    is_known.wait();
    if (request.target != "/late") return test_reply(206, request.target);
    if (late++ > 0) return test_reply(503, "busy");
    while (client.counters(endpoint).overloads == 0 && !is_over) std::this_thread::yield();
    return test_reply(206, request.target);
  });
  endpoint = server.endpoint();
  is_known.count_down();
  read_usual(client, endpoint);
  EXPECT_EQ(read_text(client, endpoint, "/late"), "/late");
  is_over = true;
  EXPECT_GE(client.counters(endpoint).overloads, 1U);
  EXPECT_GE(late, 2);
}

TEST(HttpTransfers, AWaitForAConnectionMayBeAsLongAsThereIsTime) {
  HttpTestServer server([&](const TestHttpRequest&) { return test_reply(200, "x"); });
  HttpClient client({.max_connections = 1});
  HttpTransfers transfers(client, {});
  const HttpRequest request{.endpoint = server.endpoint(), .stall_timeout = milliseconds::max()};
  std::vector<int> statuses;
  for (int i = 0; i < 3; ++i) transfers.start(request, keep(statuses));
  transfers.run();
  EXPECT_THAT(statuses, ElementsAre(200, 200, 200));
}

}  // namespace
}  // namespace headrace

#include "headrace/cli/servers/serve/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "headrace/cli/servers/serve/raw_client_test.h"
#include "headrace/codec/deflate.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kGet = "GET /a?b=1 HTTP/1.1\r\nHost: h\r\n\r\n";

std::string post(std::string_view body, std::string_view headers = "") {
  return concat("POST /p HTTP/1.1\r\nHost: h\r\n", headers, "Content-Length: ", body.size(), "\r\n\r\n",
                body);
}

// The client may have its answer before the server has counted that.
void wait_until_bytes_are_free(const HttpServer& server) {
  while (server.counts().bytes_in_flight > 0) std::this_thread::sleep_for(milliseconds(1));
}

auto soon() { return std::chrono::steady_clock::now() + minutes(1); }

TEST(HttpServer, AnswersManyRequestsOnOneConnection) {
  const auto server = start_server();
  RawClient client(server->port());
  for (int i = 0; i < 20; ++i) {
    const std::string answer = client.ask(kGet);
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_EQ(body_of(answer), "GET /a?b=1 0 ");
    EXPECT_THAT(answer, AllOf(HasSubstr("\r\nDate: "), HasSubstr(" GMT\r\n"), Not(HasSubstr("Connection:"))));
    EXPECT_EQ(body_of(client.ask(post("hello"))), "POST /p 5 hello");
  }
  EXPECT_EQ(server->counts().connections, 1u);
}

TEST(HttpServer, AnswersPipelinedRequestsInTheirOrder) {
  const auto server = start_server();
  RawClient client(server->port());
  std::string requests;
  for (int i = 0; i < 300; ++i) requests += post(concat("number ", i));
  client.send(requests);
  client.end_sending();
  for (int i = 0; i < 300; ++i) {
    const std::string body = concat("number ", i);
    ASSERT_EQ(body_of(client.answer()), concat("POST /p ", body.size(), " ", body));
  }
  EXPECT_TRUE(client.is_ended());
}

TEST(HttpServer, ReadsRequestsThatArriveByteByByte) {
  const auto server = start_server();
  RawClient client(server->port());
  for (const std::string& request :
       {std::string(kGet), post("hello"),
        std::string("POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: t\r\n\r\n"),
        std::string("POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")}) {
    for (const char byte : request) ASSERT_TRUE(client.send({&byte, 1}));
    EXPECT_EQ(status_of(client.answer()), 200) << request;
  }
}

TEST(HttpServer, ReadsChunkedBodiesOfAnySize) {
  const auto server = start_server();
  RawClient client(server->port());
  std::string body(300'000, 'x');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i * 7 % 23);
  std::string request = "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n";
  for (std::size_t at = 0, size = 1; at < body.size(); at += size, size = size * 3 + 1) {
    const std::string piece = body.substr(at, size);
    request += concat(hex32(static_cast<std::uint32_t>(piece.size())), "\r\n", piece, "\r\n");
  }
  const std::string answer = client.ask(request + "0\r\n\r\n");
  EXPECT_EQ(body_of(answer), concat("PUT /c ", body.size(), " ", body));
  EXPECT_EQ(status_of(client.ask(kGet)), 200);
}

TEST(HttpServer, LargeBodiesAndAnswersArriveWhole) {
  const auto server = start_server();
  std::string body(8 << 20, 'x');
  for (std::size_t i = 0; i < body.size(); i += 17) body[i] = static_cast<char>(i * 31);
  RawClient client(server->port(), 4096);
  EXPECT_EQ(body_of(client.ask(post(body))), concat("POST /p ", body.size(), " ", body));
}

TEST(HttpServer, ShowsTheHandlerTheWholeHead) {
  const auto server = start_server({}, [](ReceivedRequest request, Responder responder) {
    const RequestHead& head = request.head;
    std::move(responder).send(
        {.body = concat(head.header("X-ONE").value_or("none"), "|", head.header("x-two").value_or("none"),
                        "|", head.remote_address(), "|", head.client_subject())});
  });
  RawClient client(server->port());
  EXPECT_THAT(body_of(client.ask("GET / HTTP/1.1\r\nHost: h\r\nx-One:  first\t \r\nX-one: second\r\n\r\n")),
              AllOf(StartsWith("first|none|127.0.0.1:"), testing::EndsWith("|")));
  EXPECT_THAT(body_of(client.ask("GET / HTTP/1.1\r\nHost: h\r\nX-Two:\r\n\r\n")),
              StartsWith("none||127.0.0.1:"));
}

TEST(HttpServer, LeavesSpareBytesBehindABody) {
  const auto server = start_server({}, [](ReceivedRequest request, Responder responder) {
    int sum = 0;
    const std::byte* const end = request.body.bytes().data() + request.body.size();
    for (std::size_t i = 0; i < RequestBody::kPaddingBytes; ++i) sum += static_cast<int>(end[i]);
    std::move(responder).send({.body = concat(sum)});
  });
  RawClient client(server->port());
  EXPECT_EQ(body_of(client.ask(post("hello"))), "0");
}

TEST(HttpServer, AnswersHeadWithoutABody) {
  const auto server = start_server();
  RawClient client(server->port());
  client.send("HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.answer(false),
              AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("Content-Length: 10\r\n")));
  EXPECT_EQ(status_of(client.ask(kGet)), 200);
}

TEST(HttpServer, KeepsAnHttp10ConnectionOnlyIfAsked) {
  const auto server = start_server();
  RawClient client(server->port());
  const std::string kept = client.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(kept, HasSubstr("Connection: keep-alive\r\n"));
  const std::string last = client.ask("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(last, AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("Connection: close\r\n")));
  EXPECT_TRUE(client.is_ended());
}

TEST(HttpServer, ClosesWhenTheClientWantsThat) {
  const auto server = start_server();
  RawClient client(server->port());
  EXPECT_THAT(client.ask("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.is_ended());
}

TEST(HttpServer, TakesTargetsInAllForms) {
  const auto server = start_server();
  RawClient client(server->port());
  EXPECT_EQ(body_of(client.ask("GET http://other:80/x?y HTTP/1.1\r\nHost: h\r\n\r\n")), "GET /x?y 0 ");
  EXPECT_EQ(body_of(client.ask("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")), "OPTIONS * 0 ");
  EXPECT_EQ(body_of(client.ask("BREW /%2e%2e HTTP/1.1\r\nHost: h\r\n\r\n")), "BREW /%2e%2e 0 ");
  EXPECT_EQ(body_of(client.ask("\r\nGET /after HTTP/1.1\r\nHost: h\r\n\r\n")), "GET /after 0 ");
  EXPECT_EQ(body_of(client.ask("GET /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody")),
            "GET /b 4 body");
}

TEST(HttpServer, AnswersCannotBeSplitByTheirHeaders) {
  const auto server = start_server({}, [](ReceivedRequest, Responder responder) {
    std::move(responder).send({.status = 299,
                               .content_type = "text/plain\r\nX-Evil: 1",
                               .headers = {{"X-A\r\nX-Evil", "v\r\nX-Evil: 2\r\n\r\nrest"},
                                           {"Content-Length", "0"},
                                           {"Retry-After", "7"}},
                               .body = "ok"});
  });
  RawClient client(server->port());
  const std::string answer = client.ask(kGet);
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 299 "), Not(HasSubstr("\r\nX-Evil")),
                            HasSubstr("Retry-After: 7"), Not(HasSubstr("Content-Length: 0"))));
  EXPECT_EQ(body_of(answer), "ok");
}

// ---- refused requests -------------------------------------------------------------------------------

struct HostileRequest {
  std::string name;
  std::string bytes;
  int status;
};

std::vector<HostileRequest> hostile_requests() {
  using namespace std::string_literals;
  const auto head = [](std::string_view lines) {
    return concat("POST / HTTP/1.1\r\nHost: h\r\n", lines, "\r\n");
  };
  const std::string chunked = head("Transfer-Encoding: chunked\r\n");
  return {
      {"both lengths", head("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n", 400},
      {"both, other order", head("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + "0\r\n\r\n", 400},
      {"two lengths", head("Content-Length: 5\r\nContent-Length: 6\r\n") + "hello!", 400},
      {"a list of lengths", head("Content-Length: 5, 6\r\n") + "hello!", 400},
      {"a negative length", head("Content-Length: -5\r\n"), 400},
      {"a length with a sign", head("Content-Length: +5\r\n") + "hello", 400},
      {"a length in hexadecimal", head("Content-Length: 0x5\r\n") + "hello", 400},
      {"a length of 21 digits", head("Content-Length: 100000000000000000000\r\n"), 400},
      {"ten gigabytes", head("Content-Length: 10000000000\r\n"), 413},
      {"an empty length", head("Content-Length:\r\n") + "hello", 400},
      {"unknown transfer encoding", head("Transfer-Encoding: gzip\r\n"), 501},
      {"stacked transfer encodings", head("Transfer-Encoding: gzip, chunked\r\n") + "0\r\n\r\n", 501},
      {"hidden transfer encoding", head("Transfer-Encoding: xchunked\r\n"), 501},
      {"two transfer encodings",
       head("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n") + "0\r\n\r\n", 400},
      {"chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"a negative chunk", chunked + "-1\r\nx\r\n", 400},
      {"a chunk that is not a number", chunked + "zz\r\n", 400},
      {"a chunk size with too many digits", chunked + "fffffffffffffffff\r\n", 400},
      {"a chunk of 16 exabytes", chunked + "ffffffffffffffff\r\n", 413},
      {"a chunk longer than its size", chunked + "1\r\nabc\r\n0\r\n\r\n", 400},
      {"a chunk's line without CR", chunked + "1\na\n0\n\n", 400},
      {"an endless chunk extension", chunked + "1;" + std::string(70'000, 'x'), 400},
      {"endless trailers", chunked + "0\r\nT: " + std::string(70'000, 'x'), 400},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"a continued line", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", 400},
      {"lines without CR", "GET / HTTP/1.1\nHost: h\n\n", 400},
      {"a lone CR", "GET / HTTP/1.1\r\nHost: h\r\nA: b\rC: d\r\n\r\n", 400},
      {"a NUL in a header", "GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n"s, 400},
      {"a NUL in the target", "GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n"s, 400},
      {"a space before the colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400},
      {"no colon", "GET / HTTP/1.1\r\nHost: h\r\nabc\r\n\r\n", 400},
      {"an empty name", "GET / HTTP/1.1\r\nHost: h\r\n: v\r\n\r\n", 400},
      {"a space in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"no slash", "GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"a URL without path", "GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"a URL behind something else", "GET x?u=http://h/p HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"a tunnel", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 501},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"HTTP/0.9", "GET /\r\n\r\n", 400},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
      {"no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00"s, 400},
      {"a method with strange characters", "G@T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"a huge target", "GET /" + std::string(70'000, 'a'), 431},
      {"a huge header", "GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(70'000, 'a'), 431},
      {"many headers",
       "GET / HTTP/1.1\r\nHost: h\r\n" +
           [] {
             std::string lines;
             for (int i = 0; i < 100; ++i) lines += "A: b\r\n";
             return lines + "\r\n";
           }(),
       431},
      {"an unknown expectation", head("Expect: wonders\r\nContent-Length: 5\r\n"), 417},
      {"an unknown encoding", head("Content-Encoding: br\r\nContent-Length: 5\r\n") + "hello", 415},
      {"two encodings", head("Content-Encoding: gzip, gzip\r\nContent-Length: 5\r\n") + "hello", 415},
      {"gzip that is none", head("Content-Encoding: gzip\r\nContent-Length: 5\r\n") + "hello", 400},
      {"a bad list in Connection", head("Connection: a b\r\nContent-Length: 0\r\n"), 400},
  };
}

TEST(HttpServer, RefusesHostileRequestsAndServesOn) {
  std::atomic<int> handled = 0;
  const auto server = start_server({}, [&](ReceivedRequest request, Responder responder) {
    ++handled;
    echo(std::move(request), std::move(responder));
  });
  for (const HostileRequest& hostile : hostile_requests()) {
    SCOPED_TRACE(hostile.name);
    RawClient client(server->port());
    client.send(hostile.bytes);
    const std::string answer = client.answer();
    EXPECT_EQ(status_of(answer), hostile.status) << answer;
    EXPECT_THAT(body_of(answer), StartsWith("{\"error\": \""));
    client.end_sending();
    EXPECT_TRUE(client.is_ended()) << "one answer, then the end";
    EXPECT_EQ(handled, 0);
    EXPECT_EQ(server->counts().bytes_in_flight, 0u);
  }
  EXPECT_EQ(server->counts().refused_requests, hostile_requests().size());
  RawClient client(server->port());
  EXPECT_EQ(status_of(client.ask(kGet)), 200);
}

TEST(HttpServer, RefusesBodiesThatAreTooLargeBeforeTheyCome) {
  const auto server = start_server({.limits = {.body_bytes = 1000}});
  RawClient exact(server->port());
  EXPECT_EQ(status_of(exact.ask(post(std::string(1000, 'x')))), 200);
  EXPECT_EQ(status_of(exact.ask(post(std::string(1001, 'x')))), 413);
  EXPECT_EQ(status_of(exact.ask(kGet)), 200) << "a small body is dropped, and the connection goes on";
  RawClient large(server->port());
  EXPECT_EQ(status_of(large.ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")), 413);
  RawClient chunked(server->port());
  EXPECT_EQ(status_of(chunked.ask("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "3e8\r\n" +
                                  std::string(1000, 'x') + "\r\n1\r\n")),
            413);
}

TEST(HttpServer, ARefusedClientThatSendsOnStillGetsItsAnswer) {
  const auto server = start_server({.limits = {.body_bytes = 1000}});
  RawClient client(server->port());
  const std::string body(300'000, 'x');
  client.send(post(body));
  EXPECT_THAT(client.answer(), AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("Connection: close")));
}

TEST(HttpServer, OnHeadRefusesAndSetsTheSizeOfBodies) {
  const auto server = start_server({}, echo, [](const RequestHead& head) -> HeadVerdict {
    if (head.target() == "/large") return {.body_bytes_max = 20};
    if (head.header("authorization") != "Bearer t")
      return {.refusal =
                  HttpAnswer{.status = 401, .headers = {{"WWW-Authenticate", "Bearer"}}, .body = "no"}};
    return {};
  });
  RawClient client(server->port());
  EXPECT_THAT(client.ask(post("hello")),
              AllOf(StartsWith("HTTP/1.1 401 Unauthorized"), HasSubstr("WWW-Authenticate: Bearer\r\n"),
                    Not(HasSubstr("close"))));
  EXPECT_EQ(body_of(client.ask(post("hello", "Authorization: Bearer t\r\n"))), "POST /p 5 hello");
  EXPECT_EQ(status_of(client.ask("PUT /large HTTP/1.1\r\nHost: h\r\nContent-Length: 21\r\n\r\n" +
                                 std::string(21, 'x'))),
            413);
  EXPECT_EQ(server->counts().refused_requests, 1u);
}

TEST(HttpServer, RefusesBodiesThatDoNotFitIntoItsBudget) {
  TestSignal arrived;
  TestSignal release;
  const auto server = start_server(
      {.threads = 2, .limits = {.bytes_in_flight = 10'000, .retry_after_s = 3}},
      [&](ReceivedRequest request, Responder responder) {
        if (request.head.method() != "POST" || request.body.size() < 100)
          return echo(std::move(request), std::move(responder));
        std::thread([&, request = std::move(request), responder = std::move(responder)]() mutable {
          arrived.give();
          release.wait();
          request.body = {};
          std::move(responder).send({.body = "late"});
        }).detach();
      });
  RawClient first(server->port());
  first.send(post(std::string(8000, 'x')));
  ASSERT_TRUE(arrived.wait());
  EXPECT_EQ(server->counts().requests_in_flight, 1u);
  EXPECT_EQ(server->counts().bytes_in_flight, 8000u);
  RawClient second(server->port());
  EXPECT_THAT(second.ask(post(std::string(3000, 'x'))),
              AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: 3\r\n")));
  EXPECT_EQ(status_of(second.ask(kGet)), 200);
  EXPECT_EQ(status_of(second.ask(post("hello"))), 200);
  EXPECT_EQ(status_of(second.ask("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nbb8\r\n" +
                                 std::string(3000, 'x') + "\r\n0\r\n\r\n")),
            429);
  release.give();
  EXPECT_EQ(body_of(first.answer()), "late");
  RawClient third(server->port());
  EXPECT_EQ(status_of(third.ask(post(std::string(99, 'x')))), 200);
  EXPECT_EQ(status_of(third.ask(post(std::string(10'001, 'x')))), 413) << "it could never be accepted";
}

TEST(HttpServer, Says100OnlyIfTheBodyIsWanted) {
  const auto server =
      start_server({.limits = {.body_bytes = 100}}, echo, [](const RequestHead& head) -> HeadVerdict {
        if (head.target() == "/no") return {.refusal = error_answer(404, "no")};
        return {};
      });
  const auto request = [](std::string_view target, int size) {
    return concat("POST ", target, " HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: ", size,
                  "\r\n\r\n");
  };
  RawClient client(server->port());
  EXPECT_EQ(client.ask(request("/yes", 5)), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(body_of(client.ask("hello")), "POST /yes 5 hello");
  EXPECT_EQ(status_of(client.ask(request("/yes", 0))), 200) << "there is nothing to wait for";
  EXPECT_EQ(status_of(client.ask(request("/yes", 5) + "hello")), 200) << "the body is there already";
  EXPECT_EQ(status_of(client.ask(request("/no", 5))), 404);
  EXPECT_TRUE(client.is_ended()) << "nobody knows whether the body comes";
  RawClient large(server->port());
  EXPECT_EQ(status_of(large.ask(request("/yes", 101))), 413);
  RawClient old(server->port());
  EXPECT_EQ(status_of(old.ask("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab")),
            200);
}

// ---- compressed bodies ------------------------------------------------------------------------------

std::string gzip(std::string_view text) { return to_string(*gzip_compress(as_bytes(text), 6)); }

TEST(HttpServer, InflatesBodies) {
  const auto server = start_server();
  RawClient client(server->port());
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += concat(i, ",");
  for (const std::string_view name : {"gzip", "X-GZip"}) {
    const std::string answer = client.ask(post(gzip(text), concat("Content-Encoding: ", name, "\r\n")));
    EXPECT_EQ(body_of(answer), concat("POST /p ", text.size(), " ", text));
  }
  const std::string zlib("\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15", 13);
  EXPECT_EQ(body_of(client.ask(post(zlib, "Content-Encoding: deflate\r\n"))), "POST /p 5 hello");
  EXPECT_EQ(body_of(client.ask(post("hello", "Content-Encoding: identity\r\n"))), "POST /p 5 hello");
  EXPECT_EQ(body_of(client.ask(post(gzip(""), "Content-Encoding: gzip\r\n"))), "POST /p 0 ");
}

TEST(HttpServer, RefusesBodiesThatInflateTooFar) {
  const auto server = start_server({.limits = {.body_bytes = 4 << 20, .inflate_ratio_max = 100}});
  RawClient client(server->port());
  const auto ask = [&](std::string_view text) {
    return status_of(client.ask(post(gzip(text), "Content-Encoding: gzip\r\n")));
  };
  EXPECT_EQ(ask(std::string(1 << 20, 'x')), 200) << "below 1 MiB, the ratio does not matter";
  EXPECT_EQ(ask(std::string(2 << 20, 'x')), 413) << "the ratio";
  EXPECT_EQ(ask(std::string(5 << 20, 'x')), 413) << "the size";
  const std::string whole = gzip("hello");
  EXPECT_EQ(status_of(client.ask(post(whole.substr(0, whole.size() - 3), "Content-Encoding: gzip\r\n"))),
            400);
  wait_until_bytes_are_free(*server);
  EXPECT_EQ(status_of(client.ask(kGet)), 200) << "the connection goes on";
}

TEST(HttpServer, InflatesBodiesOnlyWithinItsBudget) {
  const auto server = start_server({.limits = {.body_bytes = 100'000, .bytes_in_flight = 100'000}});
  RawClient client(server->port());
  EXPECT_EQ(status_of(client.ask(post(gzip(std::string(99'990, 'x')), "Content-Encoding: gzip\r\n"))), 429);
  wait_until_bytes_are_free(*server);
}

// ---- slow clients -----------------------------------------------------------------------------------

TEST(HttpServer, EndsHeadsThatTakeTooLong) {
  const auto server = start_server({.limits = {.head_timeout = milliseconds(100)}});
  RawClient silent(server->port());
  RawClient slow(server->port());
  slow.send("GET / HTTP/1.1\r\nHost: h\r\nX: ");
  EXPECT_EQ(status_of(slow.answer()), 408);
  EXPECT_TRUE(slow.is_ended());
  RawClient dripping(server->port());
  while (dripping.send("G")) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_THAT(dripping.rest(), AnyOf(StartsWith("HTTP/1.1 408 "), ""));
}

TEST(HttpServer, ClosesConnectionsThatAreIdleTooLong) {
  const auto server = start_server({.limits = {.idle_timeout = milliseconds(100)}});
  RawClient client(server->port());
  EXPECT_EQ(status_of(client.ask(kGet)), 200);
  EXPECT_TRUE(client.is_ended());
}

TEST(HttpServer, EndsBodiesThatComeTooSlowly) {
  const auto server =
      start_server({.limits = {.transfer_timeout = milliseconds(200), .transfer_bytes_per_s = 1 << 20}});
  RawClient stopped(server->port());
  stopped.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhello");
  EXPECT_EQ(status_of(stopped.answer()), 408);
  RawClient chunked(server->port());
  chunked.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel");
  EXPECT_EQ(status_of(chunked.answer()), 408);
  RawClient refused(server->port());
  EXPECT_EQ(status_of(refused.ask(
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: br\r\nContent-Length: 10\r\n\r\n")),
            415);
  EXPECT_EQ(status_of(refused.answer()), 408) << "the body that is to be dropped does not come";
  EXPECT_TRUE(refused.is_ended());
}

TEST(HttpServer, EndsClientsThatDoNotReadTheirAnswers) {
  TestSignal arrived;
  const auto server = start_server({.limits = {.transfer_timeout = milliseconds(200)}},
                                   [&](ReceivedRequest, Responder responder) {
                                     arrived.give();
                                     std::move(responder).send({.body = std::string(64 << 20, 'x')});
                                   });
  RawClient client(server->port(), 4096);
  client.send(kGet);
  ASSERT_TRUE(arrived.wait());
  while (server->counts().requests_in_flight + server->counts().connections > 0)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(server->counts().bytes_in_flight, 0u);
  EXPECT_LT(client.rest().size(), std::size_t{64 << 20});
}

TEST(HttpServer, GivesThePlaceOfTheLongestIdleConnectionToANewOne) {
  const auto server = start_server({.limits = {.connections = 2}});
  RawClient oldest(server->port());
  EXPECT_EQ(status_of(oldest.ask(kGet)), 200);
  RawClient other(server->port());
  EXPECT_EQ(status_of(other.ask(kGet)), 200);
  RawClient newest(server->port());
  EXPECT_EQ(status_of(newest.ask(kGet)), 200);
  EXPECT_TRUE(oldest.is_ended());
  EXPECT_EQ(status_of(other.ask(kGet)), 200);
}

TEST(HttpServer, RefusesConnectionsIfNoneIsIdle) {
  TestSignal release;
  std::vector<std::thread> threads;
  const auto server =
      start_server({.limits = {.connections = 1}}, [&](ReceivedRequest request, Responder responder) {
        threads.emplace_back([&, request = std::move(request), responder = std::move(responder)]() mutable {
          release.wait();
          echo(std::move(request), std::move(responder));
        });
      });
  RawClient first(server->port());
  first.send(kGet);
  while (server->counts().requests_in_flight == 0) std::this_thread::sleep_for(milliseconds(1));
  RawClient second(server->port());
  EXPECT_THAT(second.rest(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1")));
  EXPECT_EQ(server->counts().refused_connections, 1u);
  release.give();
  EXPECT_EQ(status_of(first.answer()), 200);
  for (std::thread& thread : threads) thread.join();
}

// ---- clients that go --------------------------------------------------------------------------------

TEST(HttpServer, ClientsThatGoInTheMiddleLeaveNothing) {
  const auto server = start_server();
  for (const std::string& part :
       {std::string("GET / HT"), std::string(kGet), post("hello").substr(0, 60),
        std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nh"),
        std::string()}) {
    for (int i = 0; i < 10; ++i) {
      RawClient closing(server->port());
      closing.send(part);
      closing.close();
      RawClient resetting(server->port());
      resetting.send(part);
      resetting.reset();
    }
  }
  RawClient last(server->port());  // by now, the others are accepted
  EXPECT_EQ(status_of(last.ask(kGet)), 200);
  last.close();
  while (server->counts().connections > 0) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(server->counts().bytes_in_flight, 0u);
  EXPECT_EQ(server->counts().requests_in_flight, 0u);
}

TEST(HttpServer, TellsWhenAClientHasGone) {
  TestSignal gone;
  TestSignal arrived;
  std::optional<Responder> kept;
  const auto server = start_server({}, [&](ReceivedRequest, Responder responder) {
    kept.emplace(std::move(responder));
    kept->on_gone([&] { gone.give(); });
    arrived.give();
  });
  RawClient client(server->port());
  client.send(kGet);
  ASSERT_TRUE(arrived.wait());
  EXPECT_FALSE(kept->is_gone());
  client.reset();
  ASSERT_TRUE(gone.wait());
  EXPECT_TRUE(kept->is_gone());
  bool is_called = false;
  kept->on_gone([&] { is_called = true; });
  EXPECT_TRUE(is_called) << "at once";
  EXPECT_EQ(server->counts().requests_in_flight, 1u);
  std::move(*kept).send({.body = "too late"});
  while (server->counts().requests_in_flight > 0) std::this_thread::sleep_for(milliseconds(1));
}

TEST(HttpServer, AClientThatOnlyEndsSendingGetsItsAnswer) {
  TestSignal gone;
  std::optional<Responder> kept;
  const auto server = start_server({}, [&](ReceivedRequest, Responder responder) {
    kept.emplace(std::move(responder));
    kept->on_gone([&] { gone.give(); });
  });
  RawClient client(server->port());
  client.send(kGet);
  client.end_sending();
  ASSERT_TRUE(gone.wait());
  std::move(*kept).send({.body = "still"});
  EXPECT_EQ(body_of(client.answer()), "still");
  EXPECT_TRUE(client.is_ended());
}

// ---- answers of other threads, drain, end -----------------------------------------------------------

TEST(HttpServer, TakesAnswersFromOtherThreads) {
  std::mutex mutex;
  std::vector<std::thread> threads;
  {
    const auto server = start_server({.threads = 2}, [&](ReceivedRequest request, Responder responder) {
      const std::lock_guard lock(mutex);
      threads.emplace_back([request = std::move(request), responder = std::move(responder)]() mutable {
        echo(std::move(request), std::move(responder));
      });
    });
    std::vector<std::thread> clients;
    for (int c = 0; c < 4; ++c) {
      clients.emplace_back([&, c] {
        RawClient client(server->port());
        for (int i = 0; i < 50; ++i) {
          const std::string body = concat(c, "-", i);
          EXPECT_EQ(body_of(client.ask(post(body))), concat("POST /p ", body.size(), " ", body));
        }
      });
    }
    for (std::thread& client : clients) client.join();
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HttpServer, WorkThatIsResumedRunsInTheConnectionsThreadAndReservesItsAnswer) {
  std::mutex mutex;
  std::vector<std::thread> threads;
  const auto server = start_server(
      {.limits = {.bytes_in_flight = 100'000}}, [&](ReceivedRequest request, Responder responder) {
        const std::lock_guard lock(mutex);
        threads.emplace_back([&, bytes = std::stoull(std::string(request.body.text())),
                              own = std::this_thread::get_id(), responder = std::move(responder)]() mutable {
          const auto kept = std::make_shared<Responder>(std::move(responder));
          kept->resume([&, bytes, own, kept] {
            const Status reserved = kept->reserve_answer(bytes);
            const bool is_own = own == std::this_thread::get_id();
            std::move(*kept).send(
                {.body = concat(is_own, " ", reserved ? "reserved" : reserved.error().message)});
          });
        });
      });
  RawClient client(server->port());
  EXPECT_THAT(body_of(client.ask(post("50000"))), StartsWith("true reserved"));
  EXPECT_THAT(body_of(client.ask(post("200000"))),
              StartsWith("true the answer may take 200000 bytes, and all together may take 100000"));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(body_of(client.ask(post("90000"))), StartsWith("true reserved"));
  for (std::thread& thread : threads) thread.join();
  wait_until_bytes_are_free(*server);
}

TEST(HttpServer, ARequestWithoutAnAnswerGets500) {
  const auto server = start_server({}, [](ReceivedRequest, const Responder&) {});
  RawClient client(server->port());
  EXPECT_EQ(status_of(client.ask(kGet)), 500);
  EXPECT_EQ(status_of(client.ask(kGet)), 500);
}

TEST(HttpServer, RespondersMayOutliveTheServer) {
  TestSignal arrived;
  TestSignal gone;
  std::vector<Responder> kept;
  auto server = start_server({}, [&](ReceivedRequest, Responder responder) {
    responder.on_gone([&] { gone.give(); });
    kept.push_back(std::move(responder));
    if (kept.size() == 2) arrived.give();
  });
  RawClient client(server->port());
  RawClient other(server->port());
  client.send(kGet);
  other.send(kGet);
  ASSERT_TRUE(arrived.wait());
  server.reset();
  EXPECT_TRUE(gone.wait());
  EXPECT_TRUE(kept[0].is_gone());
  std::move(kept[0]).send({.body = "nobody reads this"});
  kept.clear();
  EXPECT_TRUE(client.is_ended());
}

TEST(HttpServer, DrainLosesNoRequestThatItAccepted) {
  std::atomic<int> handled = 0;
  std::mutex mutex;
  std::vector<std::thread> threads;
  const auto server = start_server(
      {.threads = 2, .limits = {.drain_idle_timeout = milliseconds(100)}},
      [&](ReceivedRequest request, Responder responder) {
        ++handled;
        const std::lock_guard lock(mutex);
        threads.emplace_back([request = std::move(request), responder = std::move(responder)]() mutable {
          std::this_thread::sleep_for(milliseconds(1));
          echo(std::move(request), std::move(responder));
        });
      });
  std::atomic<int> answered = 0;
  TestSignal warm;
  std::vector<std::thread> clients;
  for (int c = 0; c < 6; ++c) {
    clients.emplace_back([&, is_reconnecting = c % 2 == 0] {
      while (true) {
        RawClient client(server->port());
        if (!client.is_connected()) return;
        for (int i = 0; i < (is_reconnecting ? 1 : 1'000'000); ++i) {
          const std::string answer = client.ask(post("hello"));
          if (answer.empty()) break;  // the server closed it while it was idle, or never accepted it
          EXPECT_EQ(body_of(answer), "POST /p 5 hello");
          if (++answered == 100) warm.give();
          if (answer.find("Connection: close") != std::string::npos) break;
        }
      }
    });
  }
  ASSERT_TRUE(warm.wait());
  server->stop_accepting();
  EXPECT_TRUE(server->wait_until_idle(soon()));
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, handled);
  EXPECT_EQ(server->counts().requests_in_flight, 0u);
  EXPECT_FALSE(RawClient(server->port()).is_connected());
  for (std::thread& thread : threads) thread.join();
}

TEST(HttpServer, WaitsForRequestsInFlightNoLongerThanToTheDeadline) {
  TestSignal arrived;
  std::optional<Responder> kept;
  const auto server = start_server({}, [&](ReceivedRequest, Responder responder) {
    kept.emplace(std::move(responder));
    arrived.give();
  });
  RawClient client(server->port());
  client.send(kGet);
  ASSERT_TRUE(arrived.wait());
  server->stop_accepting();
  EXPECT_FALSE(server->wait_until_idle(std::chrono::steady_clock::now() + milliseconds(20)));
  std::move(*kept).send({.body = "done"});
  EXPECT_THAT(client.answer(), AllOf(HasSubstr("Connection: close"), HasSubstr("done")));
  client.close();
  EXPECT_TRUE(server->wait_until_idle(soon()));
}

// ---- addresses --------------------------------------------------------------------------------------

Error start_error(HttpServerOptions options) {
  const auto server = HttpServer::start(
      std::move(options), [](const RequestHead&) { return HeadVerdict{}; }, echo);
  EXPECT_FALSE(server);
  return server ? Error{} : server.error();
}

TEST(HttpServer, NamesAPortThatIsInUse) {
  const auto server = start_server();
  const Error error = start_error({.listen = {concat("127.0.0.1:", server->port())}});
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr(concat("127.0.0.1:", server->port())), HasSubstr("another port")));
}

TEST(HttpServer, ListensAtSeveralAddresses) {
  const auto server = start_server({.listen = {"localhost:0", "127.0.0.2:0"}});
  RawClient client(server->port());
  EXPECT_EQ(status_of(client.ask(kGet)), 200);
}

TEST(HttpServer, RefusesOptionsThatMakeNoSense) {
  for (const std::string address : {"", "8501", ":8501", "127.0.0.1:", "127.0.0.1:70000", "::1:8501", "[]:1",
                                    "http://h:1", "127.0.0.1:1x"}) {
    const Error error = start_error({.listen = {address}});
    EXPECT_EQ(error.code, Code::kInvalidArgument) << address;
    EXPECT_THAT(error.message, HasSubstr("HOST:PORT"));
  }
  EXPECT_EQ(start_error({.listen = {"192.0.2.1:0"}}).code, Code::kFailedPrecondition);
  EXPECT_EQ(start_error({.listen = {"127.0.0.1:0"}, .threads = 0}).code, Code::kInvalidArgument);
  EXPECT_EQ(start_error({}).code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace

#include "headrace/net/http/http_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/net/http/http_tunnel.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Time = HttpExchange::Time;

// A connection, and the server's end of it.
struct Wire {
  Wire() {
    std::array<int, 2> both{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()), 0);
    connection.stream = plain_stream(FileDescriptor(both[0]));
    server = FileDescriptor(both[1]);
  }
  void say(std::string_view text) const {
    EXPECT_EQ(::send(server.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // Everything that the server has got since the last call.
  std::string heard() const {
    std::string out;
    std::array<char, 65536> piece{};
    for (ssize_t size = 0; (size = ::recv(server.get(), piece.data(), piece.size(), 0)) > 0;)
      out.append(piece.data(), static_cast<std::size_t>(size));
    return out;
  }
  HttpConnection connection;
  FileDescriptor server;
};

constexpr Time kNow = Time(std::chrono::hours(1));

HttpRequest request_of(std::string_view method, BytesView body = {}) {
  HttpRequest request{.endpoint = {.tls = false, .host = "store.example", .port = 9000}};
  request.method = method;
  request.target = "/key";
  request.body = body;
  request.stall_timeout = milliseconds(5'000);
  return request;
}

std::string sent_by(const HttpRequest& request, const HttpProxy* proxy = nullptr) {
  Wire wire;
  HttpExchange exchange(wire.connection, request, proxy, {}, kNow);
  exchange.advance(false, kNow);
  return wire.heard();
}

TEST(HttpExchange, TheHeadOfARequestSaysWhatItHolds) {
  EXPECT_EQ(sent_by(request_of("GET")), "GET /key HTTP/1.1\r\nHost: store.example:9000\r\n\r\n");
  for (const char* method : {"PUT", "POST"}) {
    EXPECT_EQ(sent_by(request_of(method)),
              concat(method, " /key HTTP/1.1\r\nHost: store.example:9000\r\nContent-Length: 0\r\n\r\n"));
  }
  HttpRequest full = request_of("DELETE", as_bytes("body"));
  full.headers = {{"host", "other"}, {"A", "b"}};
  full.expect_continue = true;
  EXPECT_EQ(
      sent_by(full),
      "DELETE /key HTTP/1.1\r\nhost: other\r\nA: b\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
  full.body = {};
  EXPECT_EQ(sent_by(full), "DELETE /key HTTP/1.1\r\nhost: other\r\nA: b\r\n\r\n");
  const HttpProxy open{.endpoint = {}, .source = "HTTP_PROXY"};
  EXPECT_EQ(sent_by(request_of("GET"), &open),
            "GET http://store.example:9000/key HTTP/1.1\r\nHost: store.example:9000\r\n\r\n");
}

TEST(HttpExchange, AShortBodyTravelsWithTheHeadAndALongOneAfterAnAnswer) {
  const Bytes body((16 << 10) + 1, std::byte{'x'});
  HttpRequest request = request_of("PUT", BytesView(body).first(16 << 10));
  request.expect_continue = true;
  EXPECT_TRUE(sent_by(request).ends_with("\r\n\r\n" + std::string(16 << 10, 'x')));
  request.body = body;
  Wire wire;
  HttpExchange exchange(wire.connection, request, nullptr, {}, kNow);
  exchange.advance(false, kNow);
  EXPECT_TRUE(wire.heard().ends_with("\r\n\r\n"));
  EXPECT_TRUE(exchange.interest().read);
  EXPECT_FALSE(exchange.interest().write);
  wire.say("HTTP/1.1 103 Hints\r\n\r\n");
  exchange.advance(true, kNow);
  EXPECT_EQ(wire.heard(), "");
  wire.say("HTTP/1.1 100 Continue\r\n\r\n");
  exchange.advance(true, kNow);
  EXPECT_EQ(wire.heard(), std::string(body.size(), 'x'));
  EXPECT_EQ(exchange.wake_at(), kNow + milliseconds(5'000)) << "nothing is waited for but the answer";
  wire.say("HTTP/1.1 204 x\r\n\r\n");
  exchange.advance(true, kNow);
  ASSERT_TRUE(exchange.is_over());
  EXPECT_TRUE(exchange.is_connection_reusable());
}

TEST(HttpExchange, AnAnswerThatComesWithInterimOnesIsTakenAtOnce) {
  const HttpRequest request = request_of("GET");
  Wire wire;
  HttpExchange exchange(wire.connection, request, nullptr, {}, kNow);
  exchange.advance(false, kNow);
  wire.say("HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 103 More\r\n\r\nHTTP/1.1 204 x\r\n\r\n");
  exchange.advance(true, kNow);
  ASSERT_TRUE(exchange.is_over());
  EXPECT_EQ(exchange.take_response()->status, 204);
}

TEST(HttpExchange, AServerThatDoesNotContinueGetsTheBodyAfterASecond) {
  const Bytes body(20'000, std::byte{'x'});
  HttpRequest request = request_of("PUT", body);
  request.expect_continue = true;
  Wire wire;
  HttpExchange exchange(wire.connection, request, nullptr, {}, kNow);
  exchange.advance(false, kNow);
  wire.heard();
  EXPECT_EQ(exchange.wake_at(), kNow + milliseconds(1'000));
  exchange.advance(false, kNow + milliseconds(999));
  EXPECT_EQ(wire.heard(), "");
  exchange.advance(false, kNow + milliseconds(1'000));
  EXPECT_EQ(wire.heard().size(), body.size());
}

TEST(HttpExchange, GivesUpExactlyWhenItsTimeHasPassed) {
  const HttpRequest request = request_of("GET");
  Wire wire;
  HttpExchange exchange(wire.connection, request, nullptr, {}, kNow);
  exchange.advance(false, kNow);
  EXPECT_EQ(exchange.wake_at(), kNow + milliseconds(5'000));
  exchange.advance(false, kNow + milliseconds(4'999));
  EXPECT_FALSE(exchange.is_over());
  exchange.advance(false, kNow + milliseconds(5'000));
  ASSERT_TRUE(exchange.is_over());
  const auto late = exchange.take_response();
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(late.error().message, "no progress for 5000 ms");
  EXPECT_FALSE(exchange.answered());
  EXPECT_FALSE(exchange.is_connection_reusable());
}

TEST(ProgressLimit, IsMovedByAPhaseOrByThirtyTwoKibibytes) {
  ProgressLimit limit(milliseconds(200), kNow);
  EXPECT_EQ(limit.until(), kNow + milliseconds(200));
  const Time later = kNow + milliseconds(100);
  limit.moved((32 << 10) - 1, later);
  EXPECT_EQ(limit.until(), kNow + milliseconds(200));
  limit.moved(1, later);
  EXPECT_EQ(limit.until(), later + milliseconds(200));
  limit.moved((32 << 10) - 1, later + milliseconds(1));
  EXPECT_EQ(limit.until(), later + milliseconds(200)) << "it is counted anew";
  limit.phase_done(later + milliseconds(2));
  EXPECT_EQ(limit.until(), later + milliseconds(202));
  EXPECT_EQ(limit.exceeded().message, "no progress for 200 ms");
  EXPECT_EQ(ProgressLimit(milliseconds(-5), kNow).until(), kNow);
  EXPECT_EQ(ProgressLimit(std::chrono::hours(1'000'000), kNow).until(), kNow + std::chrono::hours(24));
}

// The outcome of a request whose answer is `answer`, after which the server closes or not.
Result<HttpResponse> answered(const HttpRequest& request, std::string_view answer, bool closes,
                              bool* reusable = nullptr) {
  Wire wire;
  HttpExchange exchange(wire.connection, request, nullptr, {}, kNow);
  exchange.advance(false, kNow);
  wire.heard();
  wire.say(answer);
  if (closes) ::shutdown(wire.server.get(), SHUT_WR);
  exchange.advance(true, kNow + milliseconds(5));
  EXPECT_TRUE(exchange.is_over());
  EXPECT_EQ(exchange.answered(), !answer.empty());
  if (reusable != nullptr) *reusable = exchange.is_connection_reusable();
  return exchange.take_response();
}

TEST(HttpExchange, SaysWhereAConnectionWasLost) {
  HttpRequest request = request_of("GET");
  const auto why = [&](std::string_view answer) {
    const auto lost = answered(request, answer, true);
    EXPECT_EQ(lost.error().code, Code::kUnavailable);
    return lost.error().message;
  };
  constexpr std::string_view kPart = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456";
  EXPECT_EQ(why(""), "the connection was lost while waiting for the answer: closed by the server");
  EXPECT_EQ(why("HTTP/1.1 2"),
            "the connection was lost while reading the head of the answer: closed by the server");
  EXPECT_EQ(why(kPart),
            "the connection was lost while the connection was closed within the body of the answer, 3 bytes "
            "before the end: closed by the server");
  Bytes target(9);
  request.target_memory = target;
  EXPECT_EQ(why(kPart),
            "the connection was lost while reading the body of the answer, 3 bytes before its end: closed by "
            "the server");
}

TEST(HttpExchange, AConnectionIsReusableBehindAWholeAnswerOnly) {
  const HttpRequest request = request_of("GET");
  const auto is_reusable = [&](std::string_view answer, bool closes = false) {
    bool reusable = false;
    EXPECT_TRUE(answered(request, answer, closes, &reusable)) << answer;
    return reusable;
  };
  EXPECT_TRUE(is_reusable("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
  EXPECT_FALSE(is_reusable("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi!"));
  EXPECT_FALSE(is_reusable("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"));
  EXPECT_FALSE(is_reusable("HTTP/1.1 200 OK\r\n\r\nhi", true));
}

TEST(HttpExchange, ABodyThatIsTooLongIsAnErrorOrLeft) {
  constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nhello";
  constexpr std::string_view kPieces =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
  for (const std::string_view answer : {kAnswer, kPieces}) {
    HttpRequest request = request_of("GET");
    request.max_body_bytes = 5;
    const auto fits = answered(request, answer, false);
    ASSERT_TRUE(fits) << fits.error().message;
    EXPECT_EQ(as_text(fits->body), "hello");
    EXPECT_EQ(fits->body_bytes, 5U);
    request.max_body_bytes = 4;
    const auto refused = answered(request, answer, false);
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    EXPECT_EQ(refused.error().message, "the body of the answer is longer than the 4 bytes expected");
    Bytes target(5);
    request.target_memory = target;
    request.with_crc32c = true;
    const auto taken = answered(request, answer, false);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_EQ(as_text(target), "hello");
    EXPECT_FALSE(taken->left_body);
    EXPECT_EQ(taken->body_crc32c, crc32c(as_bytes("hello")));
    target.resize(4);
    request.target_memory = target;
    EXPECT_FALSE(answered(request, answer, false));
    request.leaves_longer_body = true;
    bool reusable = true;
    const auto left = answered(request, answer, false, &reusable);
    ASSERT_TRUE(left) << left.error().message;
    EXPECT_TRUE(left->left_body);
    EXPECT_EQ(left->status, 200);
    EXPECT_EQ(left->body_bytes, 0U);
    EXPECT_EQ(left->body_crc32c, 0U);
    EXPECT_FALSE(reusable);
  }
  HttpRequest request = request_of("GET");
  Bytes target(4);
  request.target_memory = target;
  request.leaves_longer_body = true;
  request.max_body_bytes = 4;
  EXPECT_FALSE(answered(request, "HTTP/1.1 404 x\r\nContent-Length: 5\r\n\r\nhello", false))
      << "an error's text is not meant for that memory";
}

TEST(HttpExchange, TellsWhenTheHeadCame) {
  const HttpRequest request = request_of("GET");
  Wire wire;
  HttpExchange exchange(wire.connection, request, nullptr, {}, kNow);
  exchange.advance(false, kNow);
  EXPECT_EQ(exchange.head_after(), std::nullopt);
  EXPECT_EQ(exchange.begun_at(), kNow);
  wire.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
  exchange.advance(true, kNow + milliseconds(5));
  EXPECT_EQ(exchange.head_after(), milliseconds(5));
  EXPECT_EQ(exchange.status(), 200);
  EXPECT_EQ(exchange.wake_at(), kNow + milliseconds(5'005));
  wire.say("hi");
  exchange.advance(true, kNow + milliseconds(9));
  ASSERT_TRUE(exchange.is_over());
  EXPECT_EQ(exchange.head_after(), milliseconds(5));
}

TEST(HttpExchange, WithinItsTimeATrickleOfTheBodyIsProgress) {
  HttpRequest request = request_of("GET");
  request.trickle_time = milliseconds(3'000);
  Wire wire;
  HttpExchange exchange(wire.connection, request, nullptr, {}, kNow);
  exchange.advance(false, kNow);
  wire.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
  exchange.advance(true, kNow);
  const auto until_after_a_byte_at = [&](milliseconds time) {
    wire.say("x");
    exchange.advance(true, kNow + time);
    return exchange.wake_at() - kNow;
  };
  EXPECT_EQ(until_after_a_byte_at(milliseconds(2'999)), milliseconds(7'999));
  EXPECT_EQ(until_after_a_byte_at(milliseconds(3'000)), milliseconds(7'999));
}

// An exchange whose body does not fit into the buffers of the connection.
struct Sending {
  Sending() {
    request.body = body;
    exchange.emplace(wire.connection, request, nullptr, HttpLimits(), kNow);
    exchange->advance(false, kNow);
    EXPECT_FALSE(exchange->is_over());
    EXPECT_TRUE(exchange->interest().read);
    EXPECT_TRUE(exchange->interest().write);
  }
  const Bytes body = Bytes(16 << 20);
  HttpRequest request = request_of("PUT");
  Wire wire;
  std::optional<HttpExchange> exchange;
};

TEST(HttpExchange, AnAnswerBeforeTheEndOfSendingLeavesTheConnectionUnusable) {
  Sending sending;
  sending.wire.say("HTTP/1.1 403 x\r\nContent-Length: 2\r\n\r\nno");
  sending.exchange->advance(true, kNow);
  ASSERT_TRUE(sending.exchange->is_over());
  EXPECT_FALSE(sending.exchange->is_connection_reusable());
  EXPECT_EQ(sending.exchange->take_response()->status, 403);
}

TEST(HttpExchange, NonsenseBeforeTheEndOfSendingIsAnError) {
  Sending sending;
  sending.wire.say("220 mail.example ESMTP\r\n");
  sending.exchange->advance(true, kNow);
  ASSERT_TRUE(sending.exchange->is_over());
  EXPECT_EQ(sending.exchange->take_response().error().code, Code::kDataLoss);
}

TEST(HttpExchange, AnEndBeforeTheEndOfSendingIsALoss) {
  Sending closed, broken;
  ::shutdown(closed.wire.server.get(), SHUT_WR);
  closed.exchange->advance(true, kNow);
  ASSERT_TRUE(closed.exchange->is_over());
  EXPECT_EQ(closed.exchange->take_response().error().message,
            "the connection was lost while waiting for the answer: closed by the server");
  broken.wire.server = FileDescriptor();
  broken.exchange->advance(false, kNow);
  ASSERT_TRUE(broken.exchange->is_over());
  const auto lost = broken.exchange->take_response();
  EXPECT_EQ(lost.error().code, Code::kUnavailable);
  EXPECT_THAT(lost.error().message, HasSubstr("while waiting for the answer: Broken pipe"));
}

TEST(HttpConnection, IsQuietWhereNothingHasArrived) {
  Wire wire;
  EXPECT_TRUE(wire.connection.is_quiet());
  wire.say("x");
  EXPECT_FALSE(wire.connection.is_quiet());
  EXPECT_TRUE(wire.connection.is_quiet());
  wire.server = FileDescriptor();
  EXPECT_FALSE(wire.connection.is_quiet());
}

TEST(HttpTunnel, AsksTheProxyForTheServer) {
  const HttpProxy proxy{.endpoint = {.tls = false, .host = "proxy", .port = 3128}, .source = "HTTPS_PROXY"};
  const auto asked = [&](const std::string& host, std::string_view answer, Tunnel::State expected,
                         std::string* why = nullptr) {
    std::array<int, 2> both{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()), 0);
    Wire wire;
    wire.server = FileDescriptor(both[1]);
    HttpRequest request = request_of("GET");
    request.endpoint.host = host;
    const auto tunnel = open_http_tunnel(FileDescriptor(both[0]), proxy, request, {}, kNow);
    EXPECT_EQ(tunnel->advance(false, kNow), Tunnel::State::kWaiting);
    EXPECT_TRUE(tunnel->interest().read);
    EXPECT_EQ(tunnel->wake_at(), kNow + milliseconds(5'000));
    const std::string heard = wire.heard();
    wire.say(answer);
    ::shutdown(wire.server.get(), SHUT_WR);
    EXPECT_EQ(tunnel->advance(true, kNow), expected);
    if (why != nullptr) *why = tunnel->error().message;
    return heard;
  };
  EXPECT_EQ(asked("a.example", "HTTP/1.1 200 x\r\n\r\n", Tunnel::State::kOpen),
            "CONNECT a.example:9000 HTTP/1.1\r\nHost: a.example:9000\r\n\r\n");
  EXPECT_EQ(asked("fd00::7", "HTTP/1.1 200 x\r\n\r\n", Tunnel::State::kOpen),
            "CONNECT [fd00::7]:9000 HTTP/1.1\r\nHost: [fd00::7]:9000\r\n\r\n");
  std::string why;
  asked("a", "", Tunnel::State::kLost, &why);
  EXPECT_THAT(why, HasSubstr("while waiting for the answer"));
  asked("a", "HTTP/1.1 502 x\r\nContent-Length: 0\r\n\r\n", Tunnel::State::kRefused, &why);
  EXPECT_EQ(why, "the proxy http://proxy:3128 (HTTPS_PROXY) answered with status 502");
  asked("a", "HTTP/1.1 407 x\r\nContent-Length: 0\r\n\r\n", Tunnel::State::kRefused, &why);
  EXPECT_EQ(why,
            "the proxy http://proxy:3128 (HTTPS_PROXY) requires a name and a password: "
            "HTTPS_PROXY=http://NAME:PASSWORD@host:port, percent-encoded");
}

TEST(HttpExchange, ThirtyTwoKibibytesAreProgressInEitherDirection) {
  Sending sending;
  EXPECT_EQ(sending.exchange->wake_at(), kNow + milliseconds(5'000));
  EXPECT_GE(sending.wire.heard().size(), 32U << 10);
  sending.exchange->advance(false, kNow + milliseconds(100));
  EXPECT_EQ(sending.exchange->wake_at(), kNow + milliseconds(5'100));

  Bytes target(100'000);
  for (const MutableBytesView memory : {MutableBytesView(), MutableBytesView(target)}) {
    HttpRequest request = request_of("GET");
    request.target_memory = memory;
    Wire wire;
    HttpExchange exchange(wire.connection, request, nullptr, {}, kNow);
    exchange.advance(false, kNow);
    wire.say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    exchange.advance(true, kNow);
    wire.say(std::string(32 << 10, 'x'));
    exchange.advance(true, kNow + milliseconds(200));
    EXPECT_EQ(exchange.wake_at(), kNow + milliseconds(5'200));
  }
}

TEST(HttpExchange, AServerMayRefuseABodyBeforeItIsSent) {
  const Bytes body(20'000, std::byte{'x'});
  HttpRequest request = request_of("PUT", body);
  request.expect_continue = true;
  for (const bool is_http : {true, false}) {
    Wire wire;
    HttpExchange exchange(wire.connection, request, nullptr, {}, kNow);
    exchange.advance(false, kNow);
    wire.heard();
    wire.say(is_http ? "HTTP/1.1 412 x\r\nContent-Length: 2\r\n\r\nno" : "220 mail.example ESMTP\r\n");
    exchange.advance(true, kNow + milliseconds(5));
    ASSERT_TRUE(exchange.is_over());
    EXPECT_FALSE(exchange.is_connection_reusable());
    EXPECT_EQ(wire.heard(), "");
    const auto answer = exchange.take_response();
    if (is_http) {
      EXPECT_EQ(answer->status, 412);
      EXPECT_EQ(exchange.head_after(), milliseconds(5));
    } else {
      EXPECT_EQ(answer.error().code, Code::kDataLoss);
    }
  }
}

TEST(HttpExchange, AnAnswersHeadHasLimits) {
  const HttpRequest request = request_of("GET");
  Wire wire;
  HttpExchange exchange(wire.connection, request, nullptr, {.head_bytes = 20}, kNow);
  exchange.advance(false, kNow);
  wire.say("HTTP/1.1 204 x\r\nA: 0123456789\r\n\r\n");
  exchange.advance(true, kNow);
  ASSERT_TRUE(exchange.is_over());
  EXPECT_THAT(exchange.take_response().error().message, HasSubstr("its head is longer than 20 bytes"));
}

// Takes what is sent, and gives what a test has put there, piece by piece; then wants to write, or fails.
class GivenStream final : public ByteStream {
 public:
  IoAttempt try_receive(MutableBytesView target) override {
    wanted.push_back(target.size());
    if (pieces.empty()) return last;
    std::string& next = pieces.front();
    const std::size_t size = std::min(target.size(), next.size());
    std::copy_n(as_bytes(next).begin(), size, target.begin());
    next.erase(0, size);
    if (next.empty()) pieces.pop_front();
    return {IoAttempt::State::kDone, size};
  }
  IoAttempt try_send(BytesView data) override {
    if (fails_to_send) return {IoAttempt::State::kFailed, 0, "no send"};
    return {IoAttempt::State::kDone, data.size()};
  }
  int fd() const override { return -1; }
  void wake_for(std::size_t bytes) override { woken_for.push_back(bytes); }
  std::string_view tls_version() const override { return "TLSv9"; }

  std::deque<std::string> pieces;
  IoAttempt last{IoAttempt::State::kWantWrite};
  bool fails_to_send = false;
  std::vector<std::size_t> wanted, woken_for;
};

// A connection over a given stream, and an exchange that has gone as far as it can.
struct Given {
  Given(HttpRequest of, std::deque<std::string> pieces, const IoAttempt& last, bool fails_to_send = false)
      : request(std::move(of)) {
    auto given = std::make_unique<GivenStream>();
    stream = given.get();
    stream->pieces = std::move(pieces);
    stream->last = last;
    stream->fails_to_send = fails_to_send;
    connection.stream = std::move(given);
    exchange.emplace(connection, request, nullptr, HttpLimits(), kNow);
    exchange->advance(false, kNow);
  }
  std::string why() {
    EXPECT_TRUE(exchange->is_over());
    return exchange->is_over() ? exchange->take_response().error().message : "";
  }
  HttpRequest request;
  GivenStream* stream = nullptr;
  HttpConnection connection;
  std::optional<HttpExchange> exchange;
};

const std::string kHeadOfNine = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";

TEST(HttpExchange, ARecordOfTlsMayHaveToBeWrittenBeforeMoreIsRead) {
  Bytes target(9);
  HttpRequest into_memory = request_of("GET");
  into_memory.target_memory = target;
  for (const HttpRequest& request : {request_of("GET"), into_memory}) {
    Given given(request, {kHeadOfNine}, {IoAttempt::State::kWantWrite});
    ASSERT_FALSE(given.exchange->is_over());
    EXPECT_TRUE(given.exchange->interest().write);
    EXPECT_FALSE(given.exchange->interest().read);
  }
}

TEST(HttpExchange, SaysWhyAConnectionFailed) {
  const IoAttempt reset{IoAttempt::State::kFailed, 0, "reset"};
  Bytes target(9);
  HttpRequest request = request_of("GET");
  EXPECT_EQ(Given(request, {}, reset).why(), "the connection was lost while waiting for the answer: reset");
  EXPECT_EQ(Given(request, {}, reset, true).why(),
            "the connection was lost while waiting for the answer: no send");
  EXPECT_EQ(Given(request, {"HTTP"}, reset).why(),
            "the connection was lost while reading the head of the answer: reset");
  EXPECT_EQ(Given(request, {kHeadOfNine + "1"}, reset).why(),
            "the connection was lost while reading the answer: reset");
  EXPECT_EQ(Given(request, {"HTTP/1.1 200 OK\r\n\r\n"}, reset).why(),
            "the connection was lost while reading the answer: reset")
      << "which is not an end";
  request.target_memory = target;
  EXPECT_EQ(Given(request, {kHeadOfNine + "1"}, reset).why(),
            "the connection was lost while reading the answer: reset");
}

TEST(HttpExchange, ALongBodyIsWaitedForAndSummedInPieces) {
  constexpr std::size_t kSize = (256 << 10) + 9;
  Bytes target(kSize);
  HttpRequest request = request_of("GET");
  request.target_memory = target;
  const std::string head = concat("HTTP/1.1 200 OK\r\nContent-Length: ", kSize, "\r\n\r\n");
  const IoAttempt nothing{IoAttempt::State::kWantRead};
  const std::string body = std::string(kSize - 9, 'a') + std::string(9, 'b');
  Given whole(request, {head}, nothing);
  EXPECT_EQ(whole.stream->woken_for.back(), 256U << 10);
  EXPECT_EQ(whole.stream->wanted.back(), kSize);
  whole.stream->pieces = {body.substr(0, 10)};
  whole.exchange->advance(true, kNow);
  EXPECT_EQ(whole.stream->woken_for.back(), (256U << 10) - 1) << "no more than will come";
  whole.stream->pieces = {body.substr(10)};
  whole.exchange->advance(true, kNow);
  ASSERT_TRUE(whole.exchange->is_over());
  EXPECT_EQ(whole.stream->woken_for.back(), 1U) << "whoever uses the connection next waits for any byte";
  EXPECT_TRUE(whole.exchange->is_connection_reusable());
  const auto response = whole.exchange->take_response();
  EXPECT_EQ(response->tls_version, "TLSv9");
  EXPECT_EQ(response->body_bytes, kSize);
  EXPECT_EQ(response->body_crc32c, 0U) << "it was not asked for";
  request.with_crc32c = true;
  Given summed(request, {head, body}, nothing);
  ASSERT_TRUE(summed.exchange->is_over());
  EXPECT_EQ(summed.stream->wanted[1], 256U << 10);
  EXPECT_EQ(summed.stream->wanted[2], 9U);
  EXPECT_EQ(summed.exchange->take_response()->body_crc32c, crc32c(as_bytes(body)));
  EXPECT_TRUE(as_text(target) == body);
}

TEST(HttpExchange, AHeadIsWaitedForByteByByte) {
  const Given given(request_of("GET"), {}, {IoAttempt::State::kWantRead});
  ASSERT_FALSE(given.stream->woken_for.empty());
  EXPECT_EQ(given.stream->woken_for.back(), 1U);
  EXPECT_TRUE(given.exchange->interest().read);
  EXPECT_FALSE(given.exchange->interest().write);
}

TEST(HttpTunnel, AProxysAnswerHasLimits) {
  const HttpProxy proxy{.endpoint = {.tls = false, .host = "proxy", .port = 3128}, .source = "HTTPS_PROXY"};
  const HttpRequest request = request_of("GET");
  const auto outcome = [&](std::string_view answer, const HttpLimits& limits) {
    std::array<int, 2> both{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()), 0);
    Wire wire;
    wire.server = FileDescriptor(both[1]);
    const auto tunnel = open_http_tunnel(FileDescriptor(both[0]), proxy, request, limits, kNow);
    tunnel->advance(false, kNow);
    wire.say(answer);
    const Tunnel::State state = tunnel->advance(true, kNow);
    return std::pair(state, tunnel->error());
  };
  const auto refusal = [](std::size_t size) {
    return concat("HTTP/1.1 502 x\r\nContent-Length: ", size, "\r\n\r\n", std::string(size, 'x'));
  };
  const auto [refused, why] = outcome(refusal(65'536), {});
  EXPECT_EQ(refused, Tunnel::State::kRefused);
  EXPECT_EQ(why.code, Code::kUnavailable);
  const auto [lost, too_long] = outcome(refusal(65'537), {});
  EXPECT_EQ(lost, Tunnel::State::kLost);
  EXPECT_EQ(too_long.message, "the body of the answer is longer than the 65536 bytes expected");
  const auto [unread, long_head] = outcome("HTTP/1.1 200 x\r\nA: 0123456789\r\n\r\n", {.head_bytes = 20});
  EXPECT_EQ(unread, Tunnel::State::kLost);
  EXPECT_THAT(long_head.message, HasSubstr("its head is longer than 20 bytes"));
  EXPECT_EQ(refused_by_proxy(proxy, 407).code, Code::kUnauthenticated);
}

}  // namespace
}  // namespace headrace

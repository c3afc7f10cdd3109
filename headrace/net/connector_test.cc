#include "headrace/net/connector.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "headrace/net/http/http_test_server.h"
#include "headrace/net/temporary_file_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// A port of this machine that answers nothing: as many connections as its queue holds wait there already.
class BlackHole {
 public:
  BlackHole() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    while (true) {
      waiting_.push_back(*start_connecting(resolve("127.0.0.1", port_)->front()));
      pollfd connected{waiting_.back().get(), POLLOUT, 0};
      if (::poll(&connected, 1, 50) == 0) return;
    }
  }
  std::uint16_t port() const { return port_; }

 private:
  FileDescriptor listener_;
  std::uint16_t port_ = 0;
  std::vector<FileDescriptor> waiting_;
};

// A port at which nobody listens while this lives.
class ClosedPort {
 public:
  ClosedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  std::uint16_t port() const { return port_; }

 private:
  FileDescriptor socket_;
  std::uint16_t port_ = 0;
};

TestHttpReply answer_ping(const TestHttpRequest&) {
  return {.bytes = "pong", .then = TestHttpReply::Then::kClose};
}

void wait_for(const ByteStream& stream, IoAttempt::State state) {
  pollfd ready{stream.fd(), static_cast<short>(state == IoAttempt::State::kWantRead ? POLLIN : POLLOUT), 0};
  EXPECT_EQ(::poll(&ready, 1, 20'000), 1);
}

// Everything that the server sends until it closes, or the line of an error.
std::string ping(ByteStream& stream) {
  BytesView left = as_bytes("PING / HTTP/1.1\r\n\r\n");
  while (!left.empty()) {
    const IoAttempt sent = stream.try_send(left);
    if (sent.state == IoAttempt::State::kFailed) return sent.why;
    if (sent.state != IoAttempt::State::kDone) wait_for(stream, sent.state);
    left = left.subspan(sent.bytes);
  }
  std::string answer;
  Bytes buffer(64);
  while (true) {
    const IoAttempt got = stream.try_receive(buffer);
    if (got.state == IoAttempt::State::kEnd) return answer;
    if (got.state == IoAttempt::State::kFailed) return answer.empty() ? got.why : answer;
    if (got.state != IoAttempt::State::kDone) wait_for(stream, got.state);
    answer += as_text(BytesView(buffer).first(got.bytes));
  }
}

TEST(Connector, ConnectsInTheClear) {
  HttpTestServer server(answer_ping);
  Connector connector;
  const auto stream = connector.connect({.host = "127.0.0.1", .port = server.endpoint().port});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ((*stream)->tls_version(), "");
  EXPECT_EQ(ping(**stream), "pong");
}

TEST(Connector, BothSidesOfTlsShowCertificates) {
  const TestCertificate servers = make_test_certificate("DNS:ignite.example");
  const TestCertificate clients = make_test_certificate("DNS:client.example");
  const TemporaryFile authorities(servers.certificate);
  const TemporaryFile own(clients.certificate + clients.key);
  HttpTestServer server(answer_ping, {.tls = servers, .client_certificate = clients.certificate});
  const ConnectTarget target{
      .host = "127.0.0.1", .port = server.endpoint().port, .tls_name = "ignite.example"};

  Connector known({.ca_file = authorities.path(), .certificate_file = own.path()});
  const auto stream = known.connect(target);
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ((*stream)->tls_version(), "TLSv1.3");
  EXPECT_EQ((*stream)->try_send({}).state, IoAttempt::State::kDone) << "of nothing";
  EXPECT_EQ(ping(**stream), "pong");

  Connector unknown({.ca_file = authorities.path()});
  const auto refused = unknown.connect(target);
  ASSERT_TRUE(refused) << "with TLS 1.3 the client's side of the handshake ends first";
  EXPECT_THAT(ping(**refused), HasSubstr("the server requires a client certificate"));
}

TEST(Connector, AWrongCertificateIsFinal) {
  HttpTestServer server(answer_ping, {.tls = make_test_certificate("DNS:elsewhere.example")});
  const TemporaryFile authorities(make_test_certificate("DNS:ignite.example").certificate);
  Connector connector({.ca_file = authorities.path()}, [&](const std::string&, std::uint16_t port) {
    const SocketAddress address = resolve("127.0.0.1", port)->front();
    return Result(std::vector{address, address, address});
  });
  const auto refused = connector.connect(
      {.host = "ignite.example", .port = server.endpoint().port, .tls_name = "ignite.example"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnauthenticated);
  EXPECT_EQ(server.accepted_connections(), 1);
}

TEST(Connector, ARefusedPortIsNamed) {
  const ClosedPort closed;
  Connector connector;
  const auto refused = connector.connect({.host = "127.0.0.1", .port = closed.port()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().message,
            "cannot connect to 127.0.0.1:" + std::to_string(closed.port()) + ": Connection refused");
}

TEST(Connector, GoesOnToTheNextAddressOfAName) {
  HttpTestServer server(answer_ping);
  Connector connector(TlsOptions(), [](const std::string&, std::uint16_t port) {
    // Nobody listens at the first: the server has bound the second alone.
    return Result(std::vector{resolve("127.0.0.2", port)->front(), resolve("127.0.0.1", port)->front()});
  });
  const auto stream = connector.connect({.host = "two.example", .port = server.endpoint().port});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(ping(**stream), "pong");
}

TEST(Connector, AnAddressThatIsSilentLeavesTimeForTheNext) {
  const BlackHole hole;
  HttpTestServer server(answer_ping);
  Connector connector(TlsOptions(), [&](const std::string&, std::uint16_t) {
    return Result(std::vector{resolve("127.0.0.1", hole.port())->front(),
                              resolve("127.0.0.1", server.endpoint().port)->front()});
  });
  const auto stream = connector.connect({.host = "two.example", .port = 1, .timeout = milliseconds(2'000)});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(ping(**stream), "pong");
}

TEST(Connector, TheDeadlineEndsAConnectThatNobodyAnswers) {
  const BlackHole hole;
  Connector connector;
  const auto late =
      connector.connect({.host = "127.0.0.1", .port = hole.port(), .timeout = milliseconds(200)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(late.error().message, HasSubstr("no answer within 200 ms"));
}

TEST(Connector, TheDeadlineHoldsForTheHandshake) {
  // The system makes the connection; whoever listens never takes it.
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(listener.get(), 4), 0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  Connector connector({.verify = false});
  const auto late = connector.connect({.host = "127.0.0.1",
                                       .port = ntohs(address.sin_port),
                                       .tls_name = "a.example",
                                       .timeout = milliseconds(200)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(late.error().message, HasSubstr("no TLS handshake within 200 ms"));
}

TEST(Connector, AStopEndsTheWait) {
  const BlackHole hole;
  Connector connector;
  std::stop_source stop;
  auto connecting = std::async(std::launch::async, [&] {
    return connector.connect({.host = "127.0.0.1", .port = hole.port(), .timeout = std::chrono::minutes(10)},
                             stop.get_token());
  });
  stop.request_stop();
  const auto stopped = connecting.get();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
}

TEST(Connector, AResolverThatIsSilentDoesNotHoldAnybodyUp) {
  std::promise<void> end;
  const std::shared_future<void> over = end.get_future().share();
  Connector connector(TlsOptions(), [over](const std::string&, std::uint16_t) -> HostAddresses::Answer {
    over.wait();
    return Error{Code::kUnavailable, "the test is over"};
  });
  const auto late = connector.connect({.host = "a.example", .port = 1, .timeout = milliseconds(50)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(late.error().message, HasSubstr("the resolver has not answered in 50 ms"));
  end.set_value();
}

// Waits for a byte of the other side, as a proxy's answer would be.
class OneByteTunnel final : public Tunnel {
 public:
  OneByteTunnel(FileDescriptor socket, char wanted)
      : stream_(plain_stream(std::move(socket))), wanted_(wanted) {
    EXPECT_EQ(stream_->try_send(as_bytes("PING / HTTP/1.1\r\n\r\n")).state, IoAttempt::State::kDone);
  }
  State advance(bool, Time) override {
    Bytes byte(1);
    const IoAttempt got = stream_->try_receive(byte);
    if (got.state == IoAttempt::State::kWantRead) return State::kWaiting;
    return static_cast<char>(byte[0]) == wanted_ ? State::kOpen : State::kRefused;
  }
  Poller::Interest interest() const override { return {.read = true}; }
  Time wake_at() const override { return Time::max(); }
  Error error() const override { return {Code::kUnauthenticated, "it says something else"}; }

 private:
  std::unique_ptr<ByteStream> stream_;
  const char wanted_;
};

TEST(Connector, ATunnelIsPassedBeforeTheConnectionIsUsed) {
  HttpTestServer server(answer_ping);
  Connector connector;
  const auto through = [&](char wanted) {
    return connector.connect({.host = "127.0.0.1",
                              .port = server.endpoint().port,
                              .begin_tunnel = [wanted](FileDescriptor socket, Tunnel::Time) {
                                return std::make_unique<OneByteTunnel>(std::move(socket), wanted);
                              }});
  };
  const auto stream = through('p');
  ASSERT_TRUE(stream) << stream.error().message;
  Bytes rest(3);
  EXPECT_EQ((*stream)->try_receive(rest).bytes, 3);
  EXPECT_EQ(as_text(rest), "ong");
  const auto refused = through('x');
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnauthenticated);
  EXPECT_EQ(refused.error().message, "it says something else");
}

// A port whose connections the system makes, and nobody takes.
class SilentPort {
 public:
  SilentPort() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    sockaddr_in address{};
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  std::uint16_t port() const { return port_; }

 private:
  FileDescriptor listener_;
  std::uint16_t port_ = 0;
};

using Time = std::chrono::steady_clock::time_point;

// Advances an attempt as far as it gets without further bytes from the other side.
void advance_to_silence(ConnectAttempt& attempt, Poller& poller, Time now) {
  attempt.advance(false, now);
  ASSERT_TRUE(poller.wait(std::chrono::seconds(20)));
  attempt.advance(false, now);
}

TEST(ConnectAttempt, AHandshakeMayTakeUntilItsTimeHasPassed) {
  const SilentPort silent;
  Connector connector({.verify = false});
  const auto poller = *Poller::create();
  ConnectAttempt attempt(
      connector,
      {.host = "127.0.0.1", .port = silent.port(), .tls_name = "a.example", .timeout = milliseconds(7)},
      *poller, 1);
  const Time now = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  advance_to_silence(attempt, *poller, now);
  ASSERT_FALSE(attempt.is_over());
  attempt.advance(false, attempt.wake_at() - std::chrono::nanoseconds(1));
  EXPECT_FALSE(attempt.is_over());
  attempt.advance(false, attempt.wake_at());
  ASSERT_TRUE(attempt.is_over());
  EXPECT_THAT(attempt.take_stream().error().message, HasSubstr("no TLS handshake within 7 ms"));
}

TEST(ConnectAttempt, AnAnswerMayTakeUntilItsTimeHasPassed) {
  const BlackHole hole;
  Connector connector;
  const auto poller = *Poller::create();
  ConnectAttempt attempt(connector, {.host = "127.0.0.1", .port = hole.port(), .timeout = milliseconds(7)},
                         *poller, 1);
  attempt.advance(false, Time());
  ASSERT_FALSE(attempt.is_over());
  attempt.advance(false, attempt.wake_at() - std::chrono::nanoseconds(1));
  EXPECT_FALSE(attempt.is_over());
  attempt.advance(false, attempt.wake_at());
  ASSERT_TRUE(attempt.is_over());
  EXPECT_THAT(attempt.take_stream().error().message, HasSubstr("no answer within 7 ms"));
}

TEST(ConnectAttempt, AddressesShareTheTimeThatIsLeft) {
  const BlackHole hole;
  int asked = 0;
  Connector connector(TlsOptions(), [&](const std::string&, std::uint16_t) {
    ++asked;
    const SocketAddress address = resolve("127.0.0.1", hole.port())->front();
    return Result(std::vector{address, address, address});
  });
  const auto poller = *Poller::create();
  const ConnectTarget target{
      .host = "10.0.0.1", .port = 1, .description = "the store", .timeout = std::chrono::seconds(6)};
  ConnectAttempt attempt(connector, target, *poller, 1);
  const auto is_near = [](Time one, Time other) {
    return std::chrono::abs(one - other) < std::chrono::microseconds(1);  // divisions round
  };
  const Time begin = std::chrono::steady_clock::now();
  attempt.advance(false, begin);
  const Time until = begin + 3 * (attempt.wake_at() - begin);
  EXPECT_LE(until, begin + std::chrono::seconds(6));
  const Time second = attempt.wake_at();
  attempt.advance(false, second);
  EXPECT_TRUE(is_near(attempt.wake_at(), second + (until - second) / 2));
  attempt.advance(false, attempt.wake_at() + milliseconds(100));
  EXPECT_TRUE(is_near(attempt.wake_at(), until)) << "the last one has all that is left";
  EXPECT_FALSE(attempt.is_over());
  EXPECT_EQ(asked, 1);
  attempt.advance(false, attempt.wake_at());
  ASSERT_TRUE(attempt.is_over());
  EXPECT_EQ(attempt.take_stream().error().message, "cannot connect to the store: no answer within 6000 ms");
  ConnectAttempt again(connector, target, *poller, 1);
  again.advance(false, begin);
  EXPECT_EQ(asked, 2) << "addresses that did not answer are asked for again";
}

// A tunnel with the state and the wake-up time that the test gives.
class GivenTunnel final : public Tunnel {
 public:
  GivenTunnel(State state, Time wake_at) : state_(state), wake_at_(wake_at) {}
  State advance(bool, Time) override { return state_; }
  Poller::Interest interest() const override { return {.read = true}; }
  Time wake_at() const override { return wake_at_; }
  Error error() const override { return {Code::kUnavailable, "it was lost"}; }

 private:
  const State state_;
  const Time wake_at_;
};

TEST(ConnectAttempt, AfterATunnelIsLostTheNextAddressIsTried) {
  const SilentPort silent;
  Connector connector(TlsOptions(), [&](const std::string&, std::uint16_t) {
    const SocketAddress address = resolve("127.0.0.1", silent.port())->front();
    return Result(std::vector{address, address});
  });
  int tunnels = 0;
  const auto refused =
      connector.connect({.host = "a.example", .port = 1, .begin_tunnel = [&](FileDescriptor, Tunnel::Time) {
                           ++tunnels;
                           return std::make_unique<GivenTunnel>(Tunnel::State::kLost, Time::max());
                         }});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cannot connect to a.example:1: it was lost");
  EXPECT_EQ(tunnels, 2);
}

TEST(ConnectAttempt, ATunnelMayTakeUntilItsTimeHasPassed) {
  const SilentPort silent;
  Connector connector;
  const auto poller = *Poller::create();
  const Time now = std::chrono::steady_clock::now();
  for (const Time tunnel_until : {Time::max(), now + milliseconds(3)}) {
    ConnectAttempt attempt(connector,
                           {.host = "127.0.0.1",
                            .port = silent.port(),
                            .timeout = std::chrono::seconds(7),
                            .begin_tunnel =
                                [&](FileDescriptor, Tunnel::Time) {
                                  return std::make_unique<GivenTunnel>(Tunnel::State::kWaiting, tunnel_until);
                                }},
                           *poller, 1);
    advance_to_silence(attempt, *poller, now);
    ASSERT_FALSE(attempt.is_over());
    if (tunnel_until != Time::max()) {
      EXPECT_EQ(attempt.wake_at(), tunnel_until);
      continue;
    }
    const Time until = attempt.wake_at();
    attempt.advance(false, until - std::chrono::nanoseconds(1));
    EXPECT_FALSE(attempt.is_over());
    attempt.advance(false, until);
    ASSERT_TRUE(attempt.is_over());
    EXPECT_THAT(attempt.take_stream().error().message, HasSubstr("no answer from the proxy within 7000 ms"));
  }
}

TEST(Connector, ANameThatNoCertificateCanHoldIsRefused) {
  const SilentPort silent;
  Connector connector({.verify = false});
  const auto refused =
      connector.connect({.host = "127.0.0.1", .port = silent.port(), .tls_name = std::string("a\0b", 3)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("is not a host name"));
}

TEST(ConnectAttempt, AnAddressThatIsRefusedAtOnceIsSaidToBe) {
  Connector connector(TlsOptions(), [&](const std::string&, std::uint16_t port) {
    return Result(std::vector{resolve("255.255.255.255", port)->front()});
  });
  const auto refused = connector.connect({.host = "a.example", .port = 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, testing::StartsWith("cannot connect to a.example:1: "));
  EXPECT_THAT(refused.error().message, testing::Not(HasSubstr("no address")));
}

TEST(ConnectAttempt, AResolverIsAskedEveryMillisecondUntilTheTimeHasPassed) {
  std::promise<void> end;
  const std::shared_future<void> over = end.get_future().share();
  Connector connector(TlsOptions(), [over](const std::string&, std::uint16_t) -> HostAddresses::Answer {
    over.wait();
    return Error{Code::kUnavailable, "the test is over"};
  });
  const auto poller = *Poller::create();
  Time now = std::chrono::steady_clock::now();
  ConnectAttempt attempt(connector, {.host = "a.example", .port = 1, .timeout = milliseconds(7)}, *poller, 1);
  attempt.advance(false, now);
  EXPECT_EQ(attempt.wake_at(), now + milliseconds(1));
  while (attempt.wake_at() == now + milliseconds(1)) attempt.advance(false, now = attempt.wake_at());
  const Time until = attempt.wake_at();  // all of its time
  attempt.advance(false, until - std::chrono::nanoseconds(1));
  EXPECT_FALSE(attempt.is_over());
  attempt.advance(false, until);
  ASSERT_TRUE(attempt.is_over());
  EXPECT_EQ(attempt.take_stream().error().message,
            "cannot resolve \"a.example\": the resolver has not answered in 7 ms; can the name server in "
            "/etc/resolv.conf be reached?");
  end.set_value();
}

}  // namespace
}  // namespace headrace

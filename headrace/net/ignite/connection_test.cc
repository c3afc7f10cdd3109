// Faults that a real node does not make on request: a scripted one makes them.

#include "headrace/net/ignite/connection.h"

#include <gmock/gmock.h>

#include <thread>

#include "headrace/net/ignite/object_bytes_test.h"
#include "headrace/net/ignite/scripted_node_test.h"

namespace headrace::ignite {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

Result<std::shared_ptr<Connection>> open(const ScriptedNode& node,
                                         milliseconds timeout = milliseconds(20'000)) {
  Connector connector;
  return Connection::open(connector, node.address(), {.connect_timeout = timeout}, BufferPool::create());
}

Connection::Time soon() { return steady_clock::now() + std::chrono::seconds(20); }

TEST(IgniteConnection, ResponsesMayComeInAnyOrder) {
  ScriptedNode node({[](Peer& peer) {
    peer.accept_handshake();
    const std::int64_t first = peer.read_request(), second = peer.read_request();
    peer.answer(second, encode_long(2));
    peer.answer(first, encode_long(1));
    peer.read_message();
  }});
  const auto connection = open(node);
  ASSERT_TRUE(connection.has_value()) << connection.error().message;
  const auto first = (*connection)->send(Operation::kCacheGet, {}, soon());
  const auto second = (*connection)->send(Operation::kCacheGet, {}, soon());
  const Result<Response> one = (*connection)->receive(*first, soon());
  const Result<Response> two = (*connection)->receive(*second, soon());
  EXPECT_TRUE(std::ranges::equal(one->body(), encode_long(1)));
  EXPECT_TRUE(std::ranges::equal(two->body(), encode_long(2)));
}

TEST(IgniteConnection, OneThatIsAbandonedDoesNotDisturbTheOthers) {
  ScriptedNode node({[](Peer& peer) {
    peer.accept_handshake();
    const std::int64_t first = peer.read_request(), second = peer.read_request();
    peer.answer(first, encode_long(1));
    peer.answer(second, encode_long(2));
    peer.read_message();
  }});
  const auto connection = open(node);
  (*connection)->abandon(*(*connection)->send(Operation::kCacheGet, {}, soon()));
  const auto second = (*connection)->send(Operation::kCacheGet, {}, soon());
  EXPECT_TRUE(std::ranges::equal((*connection)->receive(*second, soon())->body(), encode_long(2)));
}

TEST(IgniteConnection, NoAnswerIsAnErrorAtTheDeadline) {
  ScriptedNode node({[](Peer& peer) {
    peer.accept_handshake();
    while (!peer.read_message().empty()) {
    }
  }});
  const auto connection = open(node);
  const auto request = (*connection)->send(Operation::kCacheGet, {}, soon());
  const auto response = (*connection)->receive(*request, steady_clock::now() + milliseconds(20));
  EXPECT_EQ(response.error().code, Code::kDeadlineExceeded);
}

TEST(IgniteConnection, AStopEndsTheWait) {
  ScriptedNode node({[](Peer& peer) {
    peer.accept_handshake();
    while (!peer.read_message().empty()) {
    }
  }});
  const auto connection = open(node);
  const auto request = (*connection)->send(Operation::kCacheGet, {}, soon());
  std::stop_source source;
  const std::jthread stopper([&] { source.request_stop(); });
  EXPECT_EQ((*connection)->receive(*request, soon(), source.get_token()).error().code, Code::kCancelled);
}

TEST(IgniteConnection, MessagesThatAreNotTheProtocolsEndIt) {
  Bytes huge;
  append_little_endian(huge, std::int32_t{1} << 30);
  Bytes negative;
  append_little_endian(negative, std::int32_t{-5});
  Bytes short_one;
  append_little_endian(short_one, std::int32_t{3});
  append(short_one, Bytes(3));
  Bytes stranger;  // answers request 99
  append_little_endian(stranger, std::int32_t{10});
  append_little_endian(stranger, std::int64_t{99});
  append_little_endian(stranger, std::int16_t{0});
  for (const Bytes& wrong : {huge, negative, short_one, stranger}) {
    ScriptedNode node({[&](Peer& peer) {
      peer.accept_handshake();
      peer.read_request();
      peer.send(wrong);
      peer.read_message();
    }});
    const auto connection = open(node);
    const auto request = (*connection)->send(Operation::kCacheGet, {}, soon());
    EXPECT_EQ((*connection)->receive(*request, soon()).error().code, Code::kUnavailable);
    EXPECT_TRUE((*connection)->is_lost());
  }
}

TEST(IgniteConnection, OtherServersAreNamed) {
  for (const char* greeting : {"HTTP/1.1 400 Bad Request\r\n\r\n", "IGNI----"}) {
    ScriptedNode node({[&](Peer& peer) {
      peer.send(as_bytes(greeting));
      peer.read_message();
    }});
    const auto connection = open(node);
    ASSERT_FALSE(connection.has_value());
    EXPECT_THAT(connection.error().message, HasSubstr(greeting[0] == 'H' ? "HTTP" : "Ignite 3"));
  }
}

// The whole answer of a node of Ignite 3.1.0 to its own handshake.
constexpr std::string_view kReplyOfIgnite3 =
    "49474e490000004c030000c000d8039d4f4db1e22eadd8f72ebda6e77a58bba56e6f64653001d803c44c8ed6132bf2c50623f7a2"
    "6b21"
    "2faaa86865616472616365cf01a218d854c60000030100c0c0c4022a0a00";

// That node does nothing but the end of the connection, unless it is greeted in its own words.
TEST(IgniteConnection, Ignite3IsNamedThoughItSaysNothing) {
  Bytes inquiry;
  ScriptedNode node({[](Peer& peer) { EXPECT_FALSE(peer.read_message().empty()); },
                     [&](Peer& peer) {
                       inquiry = peer.read_bytes(15);
                       peer.send(bytes_of_hex(std::string(kReplyOfIgnite3)));
                       peer.read_message();
                     }});
  const auto connection = open(node);
  ASSERT_FALSE(connection.has_value());
  EXPECT_EQ(connection.error().code, Code::kUnimplemented);
  EXPECT_THAT(connection.error().message, HasSubstr("Ignite 3 answers here"));
  EXPECT_THAT(connection.error().message, HasSubstr("a cluster of Ignite 2"));
  node.wait_until_played(2);
  EXPECT_EQ(inquiry, encode_ignite_3_handshake());
}

// The node closes the first connection late, and would answer the inquiry long after the time to connect is
// over, though soon enough for an inquiry that had as much time again.
TEST(IgniteConnection, TheInquiryEndsWithTheTimeToConnect) {
  constexpr milliseconds kTime{800}, kLate{700}, kAfter{600};
  steady_clock::time_point accepted;
  ScriptedNode node({[&](Peer& peer) {
                       accepted = steady_clock::now();
                       peer.read_message();
                       std::this_thread::sleep_until(accepted + kLate);
                     },
                     [&](Peer& peer) {
                       peer.read_bytes(15);
                       std::this_thread::sleep_until(accepted + kTime + kAfter);
                       peer.send(bytes_of_hex(std::string(kReplyOfIgnite3)));
                       peer.read_message();
                     }});
  const auto connection = open(node, kTime);
  ASSERT_FALSE(connection.has_value());
  EXPECT_THAT(connection.error().message, testing::Not(HasSubstr("Ignite 3")));
}

TEST(IgniteConnection, AnotherServerThatSaysNothingIsNotTakenForIgnite3) {
  const auto say_nothing = [](Peer& peer) { peer.read_bytes(15); };
  ScriptedNode node({say_nothing, say_nothing});
  const auto connection = open(node);
  ASSERT_FALSE(connection.has_value());
  EXPECT_EQ(connection.error().code, Code::kUnavailable);
  EXPECT_THAT(connection.error().message, HasSubstr("does this port use TLS or another protocol"));
  EXPECT_THAT(connection.error().message, testing::Not(HasSubstr("Ignite 3")));
}

TEST(IgniteConnection, AnOlderNodeGetsItsVersion) {
  ScriptedNode node({[](Peer& peer) {
                       peer.read_message();
                       Bytes refusal(1);
                       for (const std::int16_t part : {1, 3, 0}) append_little_endian(refusal, part);
                       append_string(refusal, "unsupported version");
                       peer.send_message(refusal);
                       peer.read_message();
                     },
                     [](Peer& peer) {
                       const Bytes hello = peer.read_message();
                       EXPECT_EQ(load_little_endian<std::int16_t>(hello.data() + 3), 3);
                       peer.send_message(Bytes{std::byte{1}});
                       peer.read_message();
                     }});
  const auto connection = open(node);
  ASSERT_TRUE(connection.has_value()) << connection.error().message;
  EXPECT_EQ((*connection)->agreement().version, (ProtocolVersion{1, 3, 0}));
}

}  // namespace
}  // namespace headrace::ignite

// Faults that a real node does not make on request: a scripted one makes them.

#include "headrace/net/ignite/connection.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "headrace/net/ignite/cache.h"

namespace headrace::ignite {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

// The node's side of a connection.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}
  ~Peer() { ::close(socket_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Empty: the client closed.
  Bytes read_message() {
    std::int32_t length = 0;
    if (::recv(socket_, &length, sizeof length, MSG_WAITALL) != sizeof length) return {};
    Bytes message(static_cast<std::size_t>(length));
    return ::recv(socket_, message.data(), message.size(), MSG_WAITALL) == length ? message : Bytes();
  }
  void send(BytesView bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void send_message(BytesView body) {
    Bytes message;
    append_little_endian(message, static_cast<std::int32_t>(body.size()));
    append(message, body);
    send(message);
  }
  void accept_handshake() {
    read_message();
    Bytes reply{std::byte{1}};
    append(reply, encode_bytes({}));
    reply.push_back(std::byte{10});
    reply.resize(reply.size() + 16, std::byte{1});
    send_message(reply);
  }
  void answer(std::int64_t request, BytesView body) {
    Bytes response;
    append_little_endian(response, request);
    append_little_endian(response, std::int16_t{0});
    append(response, body);
    send_message(response);
  }
  // The number of the next request, which is then to be answered; 0: the client closed.
  std::int64_t read_request() {
    const Bytes message = read_message();
    return message.empty() ? 0 : load_little_endian<std::int64_t>(message.data() + 2);
  }

 private:
  const int socket_;
};

// Plays one script after another, each for one connection.
class ScriptedNode {
 public:
  using Script = std::function<void(Peer&)>;
  explicit ScriptedNode(std::vector<Script> scripts) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, scripts = std::move(scripts)] {
      for (const Script& script : scripts) {
        Peer peer(::accept(listener_, nullptr, nullptr));
        script(peer);
        ++played_;
      }
    });
  }
  ~ScriptedNode() {
    thread_.join();
    ::close(listener_);
  }
  Address address() const { return {.host = "127.0.0.1", .port = port_}; }
  void wait_until_played(int scripts) const {
    while (played_ < scripts) std::this_thread::yield();
  }

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> played_ = 0;
  std::jthread thread_;
};

Result<std::shared_ptr<Connection>> open(const ScriptedNode& node,
                                         milliseconds timeout = milliseconds(20'000)) {
  Connector connector;
  return Connection::open(connector, node.address(), {.connect_timeout = timeout}, BufferPool::create());
}

Connection::Time soon() { return steady_clock::now() + std::chrono::seconds(20); }

ClusterOptions one_node(const ScriptedNode& node) {
  return {.addresses = {node.address()}, .call_timeout = milliseconds(20'000)};
}

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

TEST(IgniteCluster, AConnectionThatEndedWhileIdleIsReplacedEvenForUnsafeRequests) {
  ScriptedNode node({[](Peer& peer) { peer.accept_handshake(); },
                     [](Peer& peer) {
                       peer.accept_handshake();
                       peer.answer(peer.read_request(), Bytes{std::byte{1}});
                       peer.read_message();
                     }});
  auto options = one_node(node);
  options.connection.version = {1, 7, 0};
  Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options);
  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  node.wait_until_played(1);
  const Result<Response> response = (*cluster)->call(Operation::kCachePutIfAbsent, {}, Repeat::kUnsafe);
  EXPECT_TRUE(response.has_value()) << response.error().message;
}

TEST(IgniteCluster, AnUnsafeRequestIsNotRepeatedAndASafeOneIs) {
  for (const Repeat repeat : {Repeat::kSafe, Repeat::kUnsafe}) {
    std::vector<ScriptedNode::Script> scripts{[](Peer& peer) {
      peer.accept_handshake();
      EXPECT_GT(peer.read_request(), 0);
    }};
    if (repeat == Repeat::kSafe)
      scripts.emplace_back([](Peer& peer) {
        peer.accept_handshake();
        peer.answer(peer.read_request(), {});
        peer.read_message();
      });
    ScriptedNode node(std::move(scripts));
    const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(one_node(node));
    ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
    const Result<Response> response = (*cluster)->call(Operation::kCachePut, {}, repeat);
    EXPECT_EQ(response.has_value(), repeat == Repeat::kSafe);
    if (response) continue;
    EXPECT_EQ(response.error().code, Code::kUnknown);
    EXPECT_THAT(response.error().message, HasSubstr("unknown"));
  }
}

}  // namespace
}  // namespace headrace::ignite

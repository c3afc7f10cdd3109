// Faults that real nodes do not make on request: scripted ones make them.

#include "headrace/net/ignite/cluster.h"

#include <gmock/gmock.h>

#include "headrace/net/ignite/cache.h"
#include "headrace/net/ignite/scripted_node_test.h"

namespace headrace::ignite {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

ClusterOptions options_for(const ScriptedNode& node) {
  return {.addresses = {node.address()}, .call_timeout = milliseconds(20'000)};
}

TEST(IgniteCluster, AConnectionThatEndedWhileIdleIsReplacedEvenForUnsafeRequests) {
  ScriptedNode node({[](Peer& peer) { peer.accept_handshake(); },
                     [](Peer& peer) {
                       peer.accept_handshake();
                       peer.answer(peer.read_request(), Bytes{std::byte{1}});
                       peer.read_message();
                     }});
  auto options = options_for(node);
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
    const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options_for(node));
    ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
    const Result<Response> response = (*cluster)->call(Operation::kCachePut, {}, repeat);
    EXPECT_EQ(response.has_value(), repeat == Repeat::kSafe);
    if (response) continue;
    EXPECT_EQ(response.error().code, Code::kUnknown);
    EXPECT_THAT(response.error().message, HasSubstr("unknown"));
  }
}

TEST(IgniteCluster, ClearIsNotRepeated) {
  ScriptedNode node({[](Peer& peer) {
                       peer.accept_handshake();
                       EXPECT_EQ(peer.next_request().operation, Operation::kCacheClear);
                     },
                     [](Peer& peer) {
                       peer.accept_handshake();
                       while (const std::int64_t request = peer.read_request()) peer.answer(request, {});
                     }});
  const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options_for(node));
  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  const Status cleared = Cache(*cluster, "films").clear();
  ASSERT_FALSE(cleared.has_value());
  EXPECT_EQ(cleared.error().code, Code::kUnknown);
}

// The body of an answer that tells of these nodes.
Bytes endpoints_of(const std::vector<std::pair<NodeId, Address>>& nodes) {
  Bytes body;
  append_little_endian(body, std::int64_t{1});
  append_little_endian(body, static_cast<std::int32_t>(nodes.size()));
  for (const auto& [id, address] : nodes) {
    append_little_endian(body, id.high);
    append_little_endian(body, id.low);
    append_little_endian(body, std::int32_t{address.port});
    append_little_endian(body, std::int32_t{1});
    append_string(body, address.host);
  }
  return body;
}

// As behind a proxy or in containers: the cluster tells of addresses that swallow what is sent. Without
// a bound of its own, the attempt would take the ten minutes of the options.
TEST(IgniteCluster, ANodeThatCannotBeReachedHoldsUpOneRequestForASecond) {
  constexpr NodeId kAnswers{.high = 1, .low = 1}, kIsSilent{.high = 2, .low = 2};
  const auto stay_silent = [](Peer& peer) {
    while (!peer.read_message().empty()) continue;
  };
  ScriptedNode silent({stay_silent, stay_silent});
  std::optional<Address> own;
  ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake(kAnswers, kTellsEndpoints);
    peer.answer(peer.read_request(), endpoints_of({{kAnswers, *own}, {kIsSilent, silent.address()}}));
    while (const std::int64_t request = peer.read_request()) peer.answer(request, {});
  }});
  own = node.address();
  ClusterOptions options = options_for(node);
  options.connection.connect_timeout = milliseconds(600'000);
  const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options);
  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  for (int i = 0; i < 3; ++i) {
    const Result<Response> response = (*cluster)->call(Operation::kCacheGet, {}, Repeat::kSafe, kIsSilent);
    EXPECT_TRUE(response.has_value()) << response.error().message;
  }
  silent.wait_until_played(1);
  EXPECT_EQ(silent.played(), 1);
}

// As with TLS, where the certificate holds the name that the user gave, and nodes report numbers.
TEST(IgniteCluster, TheAddressThatWorkedIsTriedBeforeTheReportedOne) {
  constexpr NodeId kId{.high = 1, .low = 2};
  const auto refuse = [](Peer& peer) { peer.refuse_user(); };
  ScriptedNode reported({refuse, refuse, refuse});
  const auto first = [&](Peer& peer) {
    peer.accept_handshake(kId, kTellsEndpoints);
    peer.answer(peer.read_request(), endpoints_of({{kId, reported.address()}}));
    EXPECT_GT(peer.read_request(), 0);  // and then the connection is lost
  };
  const auto second = [&](Peer& peer) {
    peer.accept_handshake(kId, kTellsEndpoints);
    while (const std::int64_t request = peer.read_request()) peer.answer(request, {});
  };
  for (const std::optional<NodeId>& wanted : {std::optional<NodeId>(), std::optional<NodeId>(kId)}) {
    ScriptedNode given({first, second});
    const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options_for(given));
    ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
    const Result<Response> response = (*cluster)->call(Operation::kCacheGet, {}, Repeat::kSafe, wanted);
    EXPECT_TRUE(response.has_value()) << response.error().message;
    EXPECT_EQ(reported.played(), 0);
  }
}

TEST(IgniteCluster, AnAddressThatRefusesIsAnErrorOnlyIfNoneWorks) {
  const auto refuse = [](Peer& peer) { peer.refuse_user(); };
  ScriptedNode refusing({refuse, refuse, refuse});
  ScriptedNode working({[](Peer& peer) {
    peer.accept_handshake();
    peer.read_message();
  }});
  auto options = options_for(refusing);
  EXPECT_EQ(Cluster::connect(options).error().code, Code::kUnauthenticated);
  options.addresses.push_back(working.address());
  const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options);
  EXPECT_TRUE(cluster.has_value()) << cluster.error().message;
}

// A request that waited for the whole time would end with kDeadlineExceeded, and keep the connection.
TEST(IgniteCluster, ANodeThatDoesNotTellOwnersHasStalled) {
  ScriptedNode node({[](Peer& peer) {
                       peer.accept_handshake();
                       EXPECT_EQ(peer.next_request().operation, Operation::kCachePartitions);
                       EXPECT_TRUE(peer.read_message().empty());
                     },
                     [](Peer& peer) {
                       peer.accept_handshake();
                       peer.answer(peer.read_request(), {});
                       peer.read_message();
                     }});
  ClusterOptions options = options_for(node);
  options.call_timeout = milliseconds(600);
  const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options);
  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  EXPECT_EQ((*cluster)->partitions(1).error().code, Code::kUnavailable);
  EXPECT_TRUE((*cluster)->call(Operation::kCacheClear, {}, Repeat::kUnsafe).has_value());
}

// Asks a node that answers nothing but requests for owners, and then one that answers with `found`.
std::shared_ptr<Cluster> cluster_whose_node_stalls(std::optional<ScriptedNode>& node, const Bytes& found) {
  const auto answer_but_reads = [](Peer& peer) {
    peer.accept_handshake();
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request())
      if (request.operation == Operation::kCachePartitions) peer.answer(request.number, Bytes(16));
  };
  node.emplace(std::vector<ScriptedNode::Script>{
      answer_but_reads, [found](Peer& peer) {
        peer.accept_handshake();
        for (ScriptedRequest request = peer.next_request(); request.number != 0;
             request = peer.next_request())
          peer.answer(request.number, request.operation == Operation::kCachePartitions ? Bytes(16) : found);
      }});
  ClusterOptions options = options_for(*node);
  options.call_timeout = milliseconds(3000);
  const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options);
  EXPECT_TRUE(cluster.has_value()) << cluster.error().message;
  return *cluster;
}

// Without that rule, these requests would end with kDeadlineExceeded.
TEST(IgniteCluster, AReadOfANodeThatHasStalledGoesElsewhere) {
  std::optional<ScriptedNode> node;
  const auto cluster = cluster_whose_node_stalls(node, encode_string("film"));
  const auto film = Cache(cluster, "films").get(encode_long(7));
  ASSERT_TRUE(film.has_value()) << film.error().message;
  EXPECT_TRUE(film->has_value());
}

TEST(IgniteCluster, SoDoRequestsForManyKeys) {
  Bytes one_film;
  append_little_endian(one_film, std::int32_t{1});
  append(one_film, encode_long(7));
  append(one_film, encode_string("film"));
  const Bytes key = encode_long(7);
  {
    std::optional<ScriptedNode> node;
    const auto films = Cache(cluster_whose_node_stalls(node, one_film), "films").get_all({key});
    ASSERT_TRUE(films.has_value()) << films.error().message;
    EXPECT_EQ(films->entries.size(), 1U);
  }
  std::optional<ScriptedNode> node;
  const Status put = Cache(cluster_whose_node_stalls(node, {}), "films").put_all({{key, key}});
  EXPECT_TRUE(put) << put.error().message;
}

// For each key, a cluster that is away would cost the time of a connection.
TEST(IgniteCluster, ARequestForManyKeysAsksForOwnersOnce) {
  int asked = 0, puts = 0;
  ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake();
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      if (request.operation == Operation::kCachePartitions) {
        ++asked;
        peer.refuse(request.number, 1, "not now");
      } else {
        ++puts;
        peer.answer(request.number, {});
      }
    }
  }});
  {
    const auto cluster = Cluster::connect(options_for(node));
    ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
    const Bytes one = encode_long(1), two = encode_long(2), three = encode_long(3);
    EXPECT_TRUE(Cache(*cluster, "films").put_all({{one, one}, {two, two}, {three, three}}));
  }
  node.wait_until_played(1);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(puts, 1);
}

}  // namespace
}  // namespace headrace::ignite

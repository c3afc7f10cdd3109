// Faults during a scan that real nodes do not make on request: a scripted one makes them.

#include "headrace/net/ignite/scan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <future>
#include <map>
#include <set>

#include "headrace/net/ignite/cache_node_test.h"

namespace headrace::ignite {
namespace {

using std::chrono::milliseconds;

constexpr NodeId kScannedNode{.high = 1, .low = 1};
constexpr std::int64_t kRowsOfPartition = 1000;

// Serves one cache, whose partitions have `kRowsOfPartition` rows each.
class ScannedCache {
 public:
  explicit ScannedCache(std::int32_t partitions) : partitions_(partitions) {}

  // Shakes hands, and answers until the client closes or `answers_left` is used up.
  void serve(Peer& peer, int answers_left = 1'000'000) {
    peer.accept_handshake(kScannedNode);
    cursors_.clear();
    while (answers_left-- > 0) {
      const ScriptedRequest request = peer.next_request();
      if (request.number == 0) return;
      peer.answer(request.number, answer_to(request));
    }
  }
  // The pages that were asked for.
  int pages() const { return pages_; }
  std::size_t open_cursors() const { return cursors_.size(); }
  Bytes answer_to(const ScriptedRequest& request) {
    if (request.operation == Operation::kCacheGetConfiguration) return Bytes(12);
    if (request.operation == Operation::kCachePartitions)
      return map_of(java_hash("films"), {{kScannedNode, partitions_}});
    if (request.operation == Operation::kResourceClose) {
      cursors_.erase(load_little_endian<std::int64_t>(request.body.data()));
      return {};
    }
    Bytes body;
    std::int64_t id = next_cursor_;
    if (request.operation == Operation::kQueryScan) {
      ++next_cursor_;
      append_little_endian(body, id);
      cursors_[id] = {.page_rows = load_little_endian<std::int32_t>(request.body.data() + 6),
                      .next = load_little_endian<std::int32_t>(request.body.data() + 10) * kRowsOfPartition};
    } else {
      id = load_little_endian<std::int64_t>(request.body.data());
    }
    append_page(id, body);
    return body;
  }

 private:
  struct Cursor {
    std::int32_t page_rows = 0;
    std::int64_t next = 0;
  };
  void append_page(std::int64_t id, Bytes& body) {
    ++pages_;
    Cursor& cursor = cursors_[id];
    const std::int64_t left = kRowsOfPartition - cursor.next % kRowsOfPartition;
    const std::int64_t count = std::min<std::int64_t>(cursor.page_rows, left);
    append_little_endian(body, static_cast<std::int32_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      append(body, encode_long(cursor.next));
      append(body, encode_long(cursor.next++));
    }
    append_little_endian(body, std::uint8_t{count < left});
    if (count == left) cursors_.erase(id);
  }

  const std::int32_t partitions_;
  std::int64_t next_cursor_ = 1;
  std::map<std::int64_t, Cursor> cursors_{};
  int pages_ = 0;
};

std::shared_ptr<Cluster> connected_to(const ScriptedNode& node, ClusterOptions options) {
  options.addresses = {node.address()};
  return *Cluster::connect(options);
}

std::unique_ptr<Scan> scan_of(const std::shared_ptr<Cluster>& cluster, const ScanOptions& options) {
  return *Scan::open(Cache(cluster, "films"), options);
}

// Reads on to the end; fails unless each row came once.
void expect_rest(Scan& scan, std::multiset<std::int64_t> keys, std::int64_t count) {
  while (true) {
    const Result<std::optional<Page>> page = scan.next_page();
    ASSERT_TRUE(page.has_value()) << page.error().message;
    if (!*page) break;
    for (const Entry& row : (*page)->rows) keys.insert(load_little_endian<std::int64_t>(row.key.data() + 1));
  }
  EXPECT_EQ(static_cast<std::int64_t>(keys.size()), count);
  for (const std::int64_t key : keys) ASSERT_EQ(keys.count(key), 1U) << key;
}

// A wait would end the scan, because it is longer than the timeout.
ClusterOptions without_time_to_wait() {
  return {.call_timeout = milliseconds(8000), .backoff = {milliseconds(9000), milliseconds(9000)}};
}

TEST(IgniteScan, ALostConnectionCostsItsPartitionsNoWait) {
  ScannedCache cache(4);
  ScriptedNode node({[&](Peer& peer) { cache.serve(peer, 12); }, [&](Peer& peer) { cache.serve(peer, 12); },
                     [&](Peer& peer) { cache.serve(peer); }});
  const auto cluster = connected_to(node, without_time_to_wait());
  expect_rest(*scan_of(cluster, {.page_rows = 100, .open_cursors = 4}), {}, 4 * kRowsOfPartition);
}

TEST(IgniteScan, APageWithMoreRowsThanWereAskedForIsRefused) {
  ScannedCache cache(1);
  ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake(kScannedNode);
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      Bytes answer = cache.answer_to(request);
      if (request.operation == Operation::kQueryScan)
        store_little_endian(answer.data() + 8, std::int32_t{11});  // after the cursor: the number of rows
      peer.answer(request.number, answer);
    }
  }});
  const auto cluster = connected_to(node, {});
  const auto page = scan_of(cluster, {.page_rows = 10})->next_page();
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, Code::kDataLoss);
  EXPECT_THAT(page.error().message, testing::HasSubstr("more rows"));
}

// The first page of one partition arrives after the others have ended, although it was requested before
// theirs.
TEST(IgniteScan, APageThatIsLateHoldsUpNoOther) {
  constexpr std::int32_t kPartitions = 4, kLate = 1;
  ScannedCache cache(kPartitions);
  ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake(kScannedNode);
    std::optional<ScriptedRequest> late;
    std::int32_t ended = 0;
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      const bool is_scan = request.operation == Operation::kQueryScan;
      if (is_scan && load_little_endian<std::int32_t>(request.body.data() + 10) == kLate) {
        late = request;
        continue;
      }
      const Bytes answer = cache.answer_to(request);
      peer.answer(request.number, answer);
      const bool is_page = is_scan || request.operation == Operation::kQueryScanNextPage;
      ended += is_page && answer.back() == std::byte{0} ? 1 : 0;
      if (late && ended == kPartitions - 1) {
        peer.answer(late->number, cache.answer_to(*late));
        late.reset();
      }
    }
  }});
  const auto cluster = connected_to(node, {});
  expect_rest(*scan_of(cluster, {.page_rows = 500, .open_cursors = 4}), {}, kPartitions * kRowsOfPartition);
}

TEST(IgniteScan, APauseOfTheCallerDoesNotCountAsTimeWithoutProgress) {
  ScannedCache cache(2);
  ScriptedNode node({[&](Peer& peer) { cache.serve(peer, 3); }, [&](Peer& peer) { cache.serve(peer); }});
  const auto cluster = connected_to(node, {.call_timeout = milliseconds(3000)});
  const auto scan = scan_of(cluster, {.page_rows = 100, .open_cursors = 1});
  std::multiset<std::int64_t> keys;
  const Result<std::optional<Page>> page = scan->next_page();
  ASSERT_TRUE(page.has_value()) << page.error().message;
  for (const Entry& row : (*page)->rows) keys.insert(load_little_endian<std::int64_t>(row.key.data() + 1));
  std::this_thread::sleep_for(milliseconds(3100));
  expect_rest(*scan, keys, 2 * kRowsOfPartition);
}

TEST(IgniteScan, TheFirstPageTeachesThePartitionThatGaveIt) {
  ScannedCache cache(1);
  ScriptedNode node({[&](Peer& peer) { cache.serve(peer); }});
  {
    const auto cluster = connected_to(node, {});
    expect_rest(*scan_of(cluster, {}), {}, kRowsOfPartition);
  }
  node.wait_until_played(1);
  EXPECT_EQ(cache.pages(), 2);
  EXPECT_EQ(cache.open_cursors(), 0U);
}

// 1000 rows of 18 bytes are more than the limit; the first 8 rows do not tell.
TEST(IgniteScan, APageBeyondTheLimitOfMessagesIsAskedForWithFewerRows) {
  ScannedCache cache(1);
  const auto serve = [&](Peer& peer) { cache.serve(peer); };
  ScriptedNode node({serve, serve, serve, serve});
  ClusterOptions options;
  options.backoff = {milliseconds(1), milliseconds(2)};
  options.connection.message_limit_bytes = 5000;
  const auto cluster = connected_to(node, options);
  expect_rest(*scan_of(cluster, {.page_rows = 1000}), {}, kRowsOfPartition);
}

TEST(IgniteScan, ACursorThatAStopCutsShortIsClosed) {
  ScannedCache cache(1);
  std::stop_source source;
  ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake(kScannedNode);
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      if (request.operation == Operation::kQueryScan) source.request_stop();
      const Bytes answer = cache.answer_to(request);
      // Nobody waits for the answer to a close: the client may be gone.
      if (request.operation != Operation::kResourceClose) peer.answer(request.number, answer);
    }
  }});
  {
    const auto cluster = connected_to(node, {});
    const auto scan = scan_of(cluster, {.page_rows = 10});
    Result<std::optional<Page>> page = std::optional<Page>();
    do {
      page = scan->next_page(source.get_token());
    } while (page && *page);
    ASSERT_FALSE(page.has_value());
    EXPECT_EQ(page.error().code, Code::kCancelled);
    EXPECT_EQ(scan->next_page().error().code, Code::kCancelled);  // for good
  }
  node.wait_until_played(1);
  EXPECT_EQ(cache.open_cursors(), 0U);
}

TEST(IgniteScan, AConnectionThatIsLostBeforeTheOwnersAreKnownCostsNothing) {
  ScannedCache cache(2);
  ScriptedNode node({[&](Peer& peer) { cache.serve(peer, 1); }, [&](Peer& peer) { cache.serve(peer); }});
  const auto cluster = connected_to(node, {});
  const auto scan = Scan::open(Cache(cluster, "films"), {.page_rows = 100});
  ASSERT_TRUE(scan) << scan.error().message;
  expect_rest(**scan, {}, 2 * kRowsOfPartition);
}

TEST(IgniteScan, ANodeThatRefusesACursorKeepsTheConnection) {
  ScannedCache cache(2);
  ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake(kScannedNode);
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      if (request.operation == Operation::kQueryScan && request.body[10] == std::byte{1}) {
        peer.refuse(request.number, 1012, "no rights");
      } else {
        peer.answer(request.number, cache.answer_to(request));
      }
    }
  }});
  const auto cluster = connected_to(node, {});
  {
    const auto scan = scan_of(cluster, {.page_rows = 10});
    EXPECT_TRUE(scan->next_page().has_value());  // then partition 1 is asked for, and the scan is dropped
  }
  EXPECT_TRUE(Cache(cluster, "films").backups().has_value());
}

constexpr NodeId kOtherNode{.high = 2, .low = 2};

// A node that answers slowly holds up its own pages only: here, until the test has had those of the other.
TEST(IgniteScan, ThePageThatIsThereFirstIsGivenFirst) {
  std::promise<void> has_others;
  ScannedCache cache(2), slow_cache(2);
  const auto serve = [](Peer& peer, const NodeId& id, ScannedCache& own, std::future<void> waits) {
    peer.accept_handshake(id);
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      if (request.operation == Operation::kCachePartitions) {
        peer.answer(request.number, map_of(java_hash("films"), {{kScannedNode, 1}, {kOtherNode, 1}}));
        continue;
      }
      if (request.operation == Operation::kQueryScan && waits.valid()) waits.get();
      peer.answer(request.number, own.answer_to(request));
    }
  };
  ScriptedNode fast({[&](Peer& peer) { serve(peer, kScannedNode, cache, {}); }});
  ScriptedNode slow({[&](Peer& peer) { serve(peer, kOtherNode, slow_cache, has_others.get_future()); }});
  const auto cluster = Cluster::connect({.addresses = {fast.address(), slow.address()}});
  ASSERT_TRUE(cluster) << cluster.error().message;
  const auto scan = scan_of(*cluster, {.page_rows = 100, .open_cursors = 2});
  std::multiset<std::int64_t> keys;
  for (int i = 0; i < kRowsOfPartition / 100; ++i) {
    const auto page = scan->next_page();
    EXPECT_TRUE(page && *page);
    if (!page || !*page) break;
    EXPECT_EQ((*page)->partition, 0);
    for (const Entry& row : (*page)->rows) keys.insert(load_little_endian<std::int64_t>(row.key.data() + 1));
  }
  has_others.set_value();
  expect_rest(*scan, keys, 2 * kRowsOfPartition);
}

// Gives pages of one row each, until `has_enough` is ready or it has given `limit`.
struct BusyNode {
  std::shared_future<void> has_enough;
  int limit = 0;
  std::atomic<int> pages = 0;

  Bytes answer_to(const ScriptedRequest& request) {
    Bytes body;
    if (request.operation == Operation::kQueryScan)
      append_little_endian(body, std::int64_t{1});  // the cursor
    append_little_endian(body, std::int32_t{1});
    append(body, encode_long(-++pages));
    append(body, encode_long(0));
    const bool is_enough = has_enough.wait_for(milliseconds(1)) == std::future_status::ready;
    append_little_endian(body, std::uint8_t{!is_enough && pages < limit});
    return body;
  }
};

// The pages of the busy node take longer altogether than a node may be silent, each far less.
TEST(IgniteScan, ANodeThatStallsIsNoticedWhileAnotherDelivers) {
  constexpr milliseconds kSilence{1000};
  std::promise<void> is_left;
  BusyNode busy{.has_enough = is_left.get_future().share(), .limit = 3 * static_cast<int>(kSilence.count())};
  ScannedCache cache(2);
  const auto serve = [](Peer& peer, const NodeId& id, const auto& page) {
    peer.accept_handshake(id);
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      const bool is_page =
          request.operation == Operation::kQueryScan || request.operation == Operation::kQueryScanNextPage;
      if (request.operation == Operation::kCachePartitions) {
        peer.answer(request.number, map_of(java_hash("films"), {{kScannedNode, 1}, {kOtherNode, 1}}));
      } else if (std::optional<Bytes> answer = is_page ? page(request) : Bytes(12)) {
        peer.answer(request.number, *answer);
      }
    }
  };
  const auto deliver = [&](Peer& peer) {
    serve(peer, kScannedNode, [&](const auto& request) { return std::optional(busy.answer_to(request)); });
  };
  const auto stall = [&](Peer& peer) {
    serve(peer, kOtherNode, [](const auto&) { return std::optional<Bytes>(); });
    is_left.set_value();
  };
  const auto go_on = [&](Peer& peer) {
    serve(peer, kOtherNode, [&](const auto& request) { return std::optional(cache.answer_to(request)); });
  };
  ScriptedNode delivering({deliver}), stalling({stall, go_on});
  const auto cluster = Cluster::connect(
      {.addresses = {delivering.address(), stalling.address()}, .call_timeout = 3 * kSilence});
  ASSERT_TRUE(cluster) << cluster.error().message;
  const auto scan = scan_of(*cluster, {.page_rows = 100, .open_cursors = 2});
  std::int64_t rows = 0;
  while (true) {
    const Result<std::optional<Page>> page = scan->next_page();
    ASSERT_TRUE(page.has_value()) << page.error().message;
    if (!*page) break;
    rows += static_cast<std::int64_t>((*page)->rows.size());
  }
  EXPECT_EQ(rows, kRowsOfPartition + busy.pages);
  EXPECT_LT(busy.pages, busy.limit) << "the stalled node was not left";
}

// The body of an answer that tells of these nodes, without addresses.
Bytes endpoints_of(const std::vector<NodeId>& nodes) {
  Bytes body;
  append_little_endian(body, std::int64_t{1});
  append_little_endian(body, static_cast<std::int32_t>(nodes.size()));
  for (const NodeId& node : nodes) {
    append_little_endian(body, node.high);
    append_little_endian(body, node.low);
    append_little_endian(body, std::int32_t{10800});
    append_little_endian(body, std::int32_t{0});
  }
  return body;
}

struct Leaving {
  Owners before{};         // of partitions
  Bytes features{};        // of the node that stays
  std::int32_t first = 0;  // partition
};

// Scans a cache without backups in two nodes, of which the other one leaves after the first page.
Result<int> scan_while_the_other_node_leaves(const Leaving& leaving) {
  ScannedCache cache(2);
  bool has_left = false;
  ScriptedNode node({[&](Peer& peer) {
    peer.accept_handshake(kScannedNode, leaving.features);
    for (ScriptedRequest request = peer.next_request(); request.number != 0; request = peer.next_request()) {
      if (request.operation == Operation::kClusterGetEndpoints) {
        peer.answer(request.number, endpoints_of(has_left ? std::vector{kScannedNode}
                                                          : std::vector{kScannedNode, kOtherNode}));
      } else if (request.operation == Operation::kCachePartitions) {
        peer.answer(request.number, has_left
                                        ? map_of(java_hash("films"), {{kScannedNode, 2}}, 2, leaving.first)
                                        : map_of(java_hash("films"), leaving.before, 1, leaving.first));
      } else if (request.operation == Operation::kQueryScan) {
        has_left = true;
        peer.answer_of_version(2, request.number, cache.answer_to(request));
      } else {
        peer.answer(request.number, cache.answer_to(request));
      }
    }
  }});
  ClusterOptions options{.call_timeout = milliseconds(600), .backoff = {milliseconds(1), milliseconds(20)}};
  const auto cluster = connected_to(node, options);
  HEADRACE_TRY(const std::unique_ptr<Scan> scan,
               Scan::open(Cache(cluster, "films"), {.page_rows = 1000, .open_cursors = 1}));
  int rows = 0;
  while (true) {
    HEADRACE_TRY(const std::optional<Page> page, scan->next_page());
    if (!page) return rows;
    rows += static_cast<int>(page->rows.size());
  }
}

TEST(IgniteScan, ANodeThatOwnsNothingMayLeave) {
  const Result<int> rows =
      scan_while_the_other_node_leaves({.before = {{kScannedNode, 2}}, .features = kTellsEndpoints});
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(*rows, 2000);
}

TEST(IgniteScan, AnOwnerThatLeavesIsAnErrorAlsoIfNodesDoNotTellWhoIsThere) {
  for (const Bytes& features : {kTellsEndpoints, Bytes()}) {
    const Result<int> rows = scan_while_the_other_node_leaves(
        {.before = {{kScannedNode, 1}, {kOtherNode, 1}}, .features = features});
    ASSERT_FALSE(rows) << *rows;
    EXPECT_EQ(rows.error().code, Code::kDataLoss) << rows.error().message;
  }
}

TEST(IgniteScan, APartitionThatNobodyOwnsIsAnError) {
  const Result<int> rows = scan_while_the_other_node_leaves({.before = {{kScannedNode, 2}}, .first = 1});
  ASSERT_FALSE(rows) << *rows;
  EXPECT_EQ(rows.error().code, Code::kUnavailable);
  EXPECT_THAT(rows.error().message,
              testing::HasSubstr("partition 0: no node could continue: no node owns it"));
}

}  // namespace
}  // namespace headrace::ignite

// Against real nodes, which tests/python/test_ignite.py starts: their addresses and so on are in the
// environment. Without them the program fails.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/net/ignite/affinity.h"
#include "headrace/net/ignite/cache.h"
#include "headrace/net/ignite/cache_pipeline.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/scan.h"
#include "headrace/net/ignite/sql.h"
#include "headrace/net/ignite/value_text.h"

namespace headrace::ignite {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

ClusterOptions options_of_environment() {
  ClusterOptions options;
  for (const std::string& text : split(variable("HEADRACE_IGNITE_ADDRESSES"), ','))
    if (const Result<Address> address = parse_address(text)) options.addresses.push_back(*address);
  options.connection.credentials = {.user = variable("HEADRACE_IGNITE_USER"),
                                    .password = variable("HEADRACE_IGNITE_PASSWORD")};
  options.tls.ca_file = variable("HEADRACE_IGNITE_CA_FILE");
  options.connection.tls = !options.tls.ca_file.empty();
  return options;
}

std::shared_ptr<Cluster> connected() {
  Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options_of_environment());
  if (!cluster) {
    ADD_FAILURE() << cluster.error().message;
    std::exit(1);
  }
  return *cluster;
}

// A cache that goes with the test.
struct TemporaryCache {
  TemporaryCache(const std::shared_ptr<Cluster>& cluster, const std::string& name,
                 const NewCacheOptions& options = {})
      : cache(cluster, name) {
    const Status created = cache.get_or_create(options);
    EXPECT_TRUE(created.has_value()) << created.error().message;
  }
  ~TemporaryCache() { EXPECT_TRUE(cache.destroy().has_value()); }
  Cache cache;
};

Bytes value_of(std::int64_t i, std::size_t size) {
  return encode_bytes(Bytes(size, static_cast<std::byte>(i % 251)));
}

void fill(Cache& cache, std::int64_t count, std::size_t value_bytes) {
  for (std::int64_t first = 0; first < count; first += 500) {
    std::vector<Bytes> objects;
    for (std::int64_t i = first; i < std::min(first + 500, count); ++i) {
      objects.push_back(encode_long(i));
      objects.push_back(value_of(i, value_bytes));
    }
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < objects.size(); i += 2) entries.push_back({objects[i], objects[i + 1]});
    const Status put = cache.put_all(entries);
    ASSERT_TRUE(put.has_value()) << put.error().message;
  }
}

// How often each key came, from all pages; fails on a wrong value.
void count_rows(const Page& page, std::size_t value_bytes, std::map<std::int64_t, int>& times) {
  for (const Entry& row : page.rows) {
    ASSERT_EQ(row.key.size(), 9U);
    const auto key = load_little_endian<std::int64_t>(row.key.data() + 1);
    EXPECT_TRUE(std::ranges::equal(row.value, value_of(key, value_bytes))) << key;
    ++times[key];
  }
}

void expect_each_once(const std::map<std::int64_t, int>& times, std::int64_t count) {
  EXPECT_EQ(static_cast<std::int64_t>(times.size()), count);
  for (const auto& [key, number] : times) EXPECT_EQ(number, 1) << "key " << key;
}

// Reads the scan to its end.
void expect_rows_once(Scan& scan, std::int64_t rows, std::size_t value_bytes) {
  std::map<std::int64_t, int> times;
  while (true) {
    const Result<std::optional<Page>> page = scan.next_page();
    ASSERT_TRUE(page.has_value()) << page.error().message;
    if (!*page) break;
    count_rows(**page, value_bytes, times);
  }
  expect_each_once(times, rows);
}

TEST(IgniteServer, CacheOperationsDoWhatTheySay) {
  TemporaryCache temporary(connected(), "operations");
  Cache& cache = temporary.cache;
  const Bytes key = encode_string("Schlüssel"), one = encode_long(1), two = encode_long(2);
  EXPECT_FALSE((*cache.get(key)).has_value());
  EXPECT_TRUE(*cache.put_if_absent(key, one));
  EXPECT_FALSE(*cache.put_if_absent(key, two));
  EXPECT_TRUE(std::ranges::equal((**cache.get(key)).bytes, one));
  EXPECT_FALSE(*cache.replace_if_equals(key, two, one));
  EXPECT_TRUE(*cache.replace_if_equals(key, one, two));
  EXPECT_TRUE(std::ranges::equal((**cache.get_and_put(key, one)).bytes, two));
  EXPECT_FALSE(*cache.remove_if_equals(key, two));
  EXPECT_TRUE(*cache.remove_if_equals(key, one));
  EXPECT_FALSE(*cache.remove_key(key));
  EXPECT_TRUE(cache.put(key, two).has_value());
  EXPECT_TRUE(*cache.remove_key(key));
  fill(cache, 700, 10);
  EXPECT_EQ(*cache.size(), 700);
  const Bytes there = encode_long(3), absent = encode_long(-3);
  const Result<StoredEntries> some = cache.get_all({there, absent});
  ASSERT_EQ(some->entries.size(), 1U);
  EXPECT_TRUE(std::ranges::equal(some->entries[0].value, value_of(3, 10)));
  EXPECT_TRUE(cache.clear().has_value());
  EXPECT_EQ(*cache.size(), 0);
  EXPECT_THAT(*Cache::names(cache.cluster()), testing::Contains("operations"));
}

TEST(IgniteServer, ManyKeysAreAskedForAtTheirOwners) {
  TemporaryCache temporary(connected(), "many_keys", {.backups = 0});
  fill(temporary.cache, 3'000, 2'000);
  std::vector<Bytes> keys;
  for (std::int64_t i = -10; i < 3'000; ++i) keys.push_back(encode_long(i));
  const std::vector<BytesView> all(keys.begin(), keys.end());
  const Result<StoredEntries> stored = temporary.cache.get_all(all);
  ASSERT_TRUE(stored.has_value()) << stored.error().message;
  EXPECT_GT(stored->responses.size(), 3U);  // 1,000 keys in a request
  std::map<std::int64_t, int> times;
  for (const Entry& entry : stored->entries) {
    const auto key = load_little_endian<std::int64_t>(entry.key.data() + 1);
    EXPECT_TRUE(std::ranges::equal(entry.value, value_of(key, 2'000)));
    ++times[key];
  }
  expect_each_once(times, 3'000);
  ASSERT_TRUE(temporary.cache.remove_keys({all.begin(), all.begin() + 1'510}).has_value());
  EXPECT_EQ(*temporary.cache.size(), 1'500);
}

TEST(IgniteServer, APipelineGivesResponsesInTheOrderOfRequests) {
  TemporaryCache temporary(connected(), "pipeline");
  CachePipeline pipeline(temporary.cache);
  for (std::int64_t i = 0; i < 40; ++i) {
    const Bytes value = value_of(i, 30'000);
    const BytesView view(value);
    ASSERT_TRUE(pipeline.put(encode_long(i), {view.first(7), view.subspan(7)}, {}).has_value());
  }
  while (pipeline.in_flight() > 0) ASSERT_TRUE(pipeline.receive({}).has_value());
  for (std::int64_t i = 0; i < 41; ++i) ASSERT_TRUE(pipeline.get(encode_long(i), {}).has_value());
  for (std::int64_t i = 0; i < 40; ++i) {
    const Result<std::optional<StoredObject>> object = pipeline.receive_object({});
    ASSERT_TRUE(object.has_value() && object->has_value()) << i;
    EXPECT_TRUE(std::ranges::equal((*object)->bytes, value_of(i, 30'000))) << i;
  }
  EXPECT_FALSE(pipeline.receive_object({})->has_value());
  CachePipeline nowhere(Cache(connected(), "nowhere"));
  ASSERT_TRUE(nowhere.get(encode_long(1), {}).has_value());
  EXPECT_EQ(nowhere.receive({}).error().code, Code::kNotFound);
}

TEST(IgniteServer, ALargeValueComesBackWhole) {
  TemporaryCache temporary(connected(), "large");
  const Bytes key = encode_string("k"), value = value_of(7, std::size_t{24} << 20);
  ASSERT_TRUE(temporary.cache.put(key, value).has_value());
  EXPECT_TRUE(std::ranges::equal((**temporary.cache.get(key)).bytes, value));
}

TEST(IgniteServer, ACacheThatIsNotThereIsNamedInTheError) {
  Cache cache(connected(), "nowhere");
  const auto got = cache.get(encode_long(1));
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, Code::kNotFound);
  EXPECT_THAT(got.error().message, HasSubstr("nowhere"));
  const auto scan = Scan::open(cache, {});
  ASSERT_FALSE(scan.has_value());
  EXPECT_EQ(scan.error().code, Code::kNotFound);
}

TEST(IgniteServer, AnOlderVersionOfTheProtocolWorksAsWell) {
  for (const std::int16_t minor : {2, 3, 4, 5, 6, 7}) {
    ClusterOptions options = options_of_environment();
    options.connection.version = {1, minor, 0};
    const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options);
    ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
    TemporaryCache temporary(*cluster, "older");
    fill(temporary.cache, 300, 100);
    const Result<std::unique_ptr<Scan>> scan = Scan::open(temporary.cache, {});
    ASSERT_TRUE(scan.has_value()) << scan.error().message;
    expect_rows_once(**scan, 300, 100);
  }
}

TEST(IgniteServer, ManyThreadsShareTheConnections) {
  const std::shared_ptr<Cluster> cluster = connected();
  TemporaryCache temporary(cluster, "threads");
  std::vector<std::jthread> threads;
  for (std::int64_t thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (std::int64_t i = 0; i < 100; ++i) {
        const Bytes key = encode_long(thread * 1000 + i);
        const Bytes value = value_of(i, static_cast<std::size_t>(1 + i * 97));
        EXPECT_TRUE(temporary.cache.put(key, value).has_value());
        const auto got = temporary.cache.get(key);
        ASSERT_TRUE(got.has_value() && got->has_value());
        EXPECT_TRUE(std::ranges::equal((**got).bytes, value));
      }
    });
  threads.clear();
  EXPECT_EQ(*temporary.cache.size(), 800);
}

TEST(IgniteServer, ScanGivesEachRowOnceWithinItsBudget) {
  TemporaryCache temporary(connected(), "scanned", {.backups = 1});
  fill(temporary.cache, 20'000, 1000);
  const Result<std::unique_ptr<Scan>> scan = Scan::open(temporary.cache, {.budget_bytes = 200'000});
  ASSERT_TRUE(scan.has_value()) << scan.error().message;
  std::map<std::int64_t, int> times;
  while (true) {
    const Result<std::optional<Page>> page = (*scan)->next_page();
    ASSERT_TRUE(page.has_value()) << page.error().message;
    if (!*page) break;
    EXPECT_LE((*page)->response.buffer.size(), 200'000U);
    count_rows(**page, 1000, times);
  }
  expect_each_once(times, 20'000);
}

TEST(IgniteServer, ScanOfSomePartitionsGivesTheirRows) {
  TemporaryCache temporary(connected(), "partitions");
  fill(temporary.cache, 5000, 10);
  std::size_t expected = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    const std::int32_t partition = partition_of_hash(*key_hash(encode_long(i)), 1024);
    expected += partition == 5 || partition == 900;
  }
  const Result<std::unique_ptr<Scan>> scan = Scan::open(temporary.cache, {.partitions = {5, 900}});
  ASSERT_TRUE(scan.has_value());
  std::size_t rows = 0;
  while (true) {
    const Result<std::optional<Page>> page = (*scan)->next_page();
    ASSERT_TRUE(page.has_value());
    if (!*page) break;
    EXPECT_THAT((*page)->partition, AnyOf(5, 900));
    rows += (*page)->rows.size();
  }
  EXPECT_EQ(rows, expected);
  EXPECT_GT(rows, 0U);
  EXPECT_EQ(Scan::open(temporary.cache, {.partitions = {1024}}).error().code, Code::kInvalidArgument);
}

TEST(IgniteServer, ScanOfAReplicatedCacheGivesEachRowOnce) {
  TemporaryCache temporary(connected(), "replicated", {.is_replicated = true});
  fill(temporary.cache, 3000, 100);
  const Result<std::unique_ptr<Scan>> scan = Scan::open(temporary.cache, {});
  ASSERT_TRUE(scan.has_value());
  expect_rows_once(**scan, 3000, 100);
}

TEST(IgniteServer, ScansThatAreDroppedLeaveNoCursors) {
  TemporaryCache temporary(connected(), "dropped");
  fill(temporary.cache, 5000, 100);
  // A node allows 128 cursors on a connection.
  for (int i = 0; i < 60; ++i) {
    const Result<std::unique_ptr<Scan>> scan =
        Scan::open(temporary.cache, {.page_rows = 1, .open_cursors = 8});
    ASSERT_TRUE(scan.has_value());
    for (int page = 0; page < 6; ++page) {
      const Result<std::optional<Page>> given = (*scan)->next_page();
      ASSERT_TRUE(given.has_value()) << given.error().message;
    }
  }
}

TEST(IgniteServer, AScanWaitsForFreeCursors) {
  TemporaryCache temporary(connected(), "cursors");
  fill(temporary.cache, 5000, 100);
  const Result<std::unique_ptr<Scan>> scan =
      Scan::open(temporary.cache, {.page_rows = 1, .open_cursors = 1000});
  ASSERT_TRUE(scan.has_value());
  expect_rows_once(**scan, 5000, 100);
}

TEST(IgniteServer, SqlCreatesFillsAndReadsATable) {
  const std::shared_ptr<Cluster> cluster = connected();
  const auto run = [&](const SqlQuery& query) {
    Result<std::unique_ptr<SqlResult>> result = SqlResult::run(cluster, query);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return std::move(*result);
  };
  run({.text = "DROP TABLE IF EXISTS films"});
  run({.text = "CREATE TABLE films (id BIGINT PRIMARY KEY, title VARCHAR)"});
  for (std::int64_t i = 0; i < 25; ++i) {
    const auto changed = run({.text = "INSERT INTO films (id, title) VALUES (?, ?)",
                              .arguments = {encode_long(i), encode_string(concat("film ", i))}});
    Result<std::optional<SqlPage>> page = changed->next_page();
    std::vector<BytesView> row;
    EXPECT_TRUE((*page)->next(row) && std::ranges::equal(row.at(0), encode_long(1)));
  }
  const auto films = run({.text = "SELECT id, title FROM films WHERE id >= ? ORDER BY id",
                          .arguments = {encode_long(5)},
                          .page_rows = 7,
                          .is_select = true});
  EXPECT_THAT(films->columns(), testing::ElementsAre("ID", "TITLE"));
  std::int64_t id = 5;
  while (true) {
    Result<std::optional<SqlPage>> page = films->next_page();
    ASSERT_TRUE(page.has_value()) << page.error().message;
    if (!*page) break;
    for (std::vector<BytesView> row; (*page)->next(row);) {
      EXPECT_TRUE(std::ranges::equal(row.at(0), encode_long(id)));
      EXPECT_TRUE(std::ranges::equal(row.at(1), encode_string(concat("film ", id))));
      ++id;
    }
  }
  EXPECT_EQ(id, 25);
  const auto wrong = SqlResult::run(cluster, {.text = "SELECT nothing FROM nowhere", .is_select = true});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().message, HasSubstr("NOWHERE"));
  run({.text = "DROP TABLE films"});
}

TEST(IgniteServer, AnObjectComesBackOnceItsTypeIsRegistered) {
  const std::shared_ptr<Cluster> cluster = connected();
  TemporaryCache temporary(cluster, "objects");
  const auto kitten =
      *make_object("test.Kitten", {{"name", std::string_view("Tom")}, {"age", std::int32_t{3}}});
  ASSERT_TRUE(register_type(*cluster, *kitten->type).has_value());
  const auto older = *make_object("test.Kitten", {{"age", std::int32_t{4}}});
  ASSERT_TRUE(register_type(*cluster, *older->type).has_value());
  Bytes key;
  Bytes value;
  ASSERT_TRUE(append_object(kitten, {}, key).has_value());
  ASSERT_TRUE(append_object(older, {}, value).has_value());
  ASSERT_TRUE(temporary.cache.put(key, value).has_value());
  const auto stored = temporary.cache.get(key);
  ASSERT_TRUE(stored.has_value() && *stored);
  BinaryTypes types(fetch_from(cluster));
  EXPECT_EQ(to_json(*decode_object((*stored)->bytes, types))->dump(), R"({"age":4})");
  EXPECT_EQ(to_json(*decode_object(key, types))->dump(), R"({"age":3,"name":"Tom"})");
  const auto other = *make_object("test.Kitten", {{"age", std::string_view("old")}});
  EXPECT_THAT(register_type(*cluster, *other->type).error().message, HasSubstr("age"));
}

TEST(IgniteServer, AStopEndsAWait) {
  const std::shared_ptr<Cluster> cluster = connected();
  std::stop_source source;
  source.request_stop();
  const auto got = Cache(cluster, "any").get(encode_long(1), source.get_token());
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, Code::kCancelled);
}

// By the shell: Windows, for which this is compiled, too, has no signals.
void kill_node(std::size_t index) {
  const std::vector<std::string> pids = split(variable("HEADRACE_IGNITE_PIDS"), ' ');
  ASSERT_EQ(std::system(concat("kill -KILL ", pids.at(index)).c_str()), 0);
}

// These two, in this order, end nodes of a cluster of three.
TEST(IgniteLoss, OfANodeDuringAScanLeavesEachRowExactlyOnce) {
  const std::shared_ptr<Cluster> cluster = connected();
  ASSERT_EQ(cluster->nodes().size(), 3U);
  Cache cache(cluster, "kept");
  ASSERT_TRUE(cache.get_or_create({.backups = 1}).has_value());
  fill(cache, 30'000, 500);
  // Small pages: at the time of the loss, partitions are half read.
  const Result<std::unique_ptr<Scan>> scan = Scan::open(cache, {.page_rows = 5});
  ASSERT_TRUE(scan.has_value());
  const Result<std::unique_ptr<Scan>> forgetful = Scan::open(cache, {.page_rows = 5, .remembered_bytes = 8});
  for (int pages = 0; pages < 200; ++pages) {
    const Result<std::optional<Page>> page = (*forgetful)->next_page();
    ASSERT_TRUE(page.has_value() && page->has_value());
  }
  std::map<std::int64_t, int> times;
  std::jthread writer;
  for (int pages = 0;; ++pages) {
    if (pages == 1000) {
      ASSERT_NO_FATAL_FAILURE(kill_node(2));
      writer = std::jthread([&] {  // safe requests go on elsewhere
        for (std::int64_t i = 0; i < 300; ++i) {
          const Status put = cache.put(encode_long(i), value_of(i, 500));
          EXPECT_TRUE(put.has_value()) << put.error().message;
        }
      });
    }
    const Result<std::optional<Page>> page = (*scan)->next_page();
    ASSERT_TRUE(page.has_value()) << page.error().message;
    if (!*page) break;
    count_rows(**page, 500, times);
  }
  expect_each_once(times, 30'000);
  EXPECT_EQ(cluster->nodes().size(), 2U);
  Result<std::optional<Page>> page = std::optional<Page>();
  do {
    page = (*forgetful)->next_page();
  } while (page && *page);
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, Code::kUnavailable);
  EXPECT_THAT(page.error().message, HasSubstr("remembered_bytes"));
}

TEST(IgniteLoss, OfPartitionsWithoutBackupIsAnError) {
  ClusterOptions options = options_of_environment();
  options.call_timeout = std::chrono::minutes(2);  // the last node may take long to notice the loss
  const std::shared_ptr<Cluster> cluster = *Cluster::connect(options);
  ASSERT_EQ(cluster->nodes().size(), 2U);
  Cache cache(cluster, "single");
  ASSERT_TRUE(cache.get_or_create({}).has_value());
  fill(cache, 20'000, 500);
  const Result<std::unique_ptr<Scan>> scan = Scan::open(cache, {.page_rows = 5});
  ASSERT_TRUE(scan.has_value());
  Result<std::optional<Page>> page = std::optional<Page>();
  int pages = 0;
  do {
    if (++pages == 500) {
      ASSERT_NO_FATAL_FAILURE(kill_node(1));
    }
    page = (*scan)->next_page();
  } while (page && *page);
  ASSERT_FALSE(page.has_value()) << pages;
  EXPECT_EQ(page.error().code, Code::kDataLoss);
  EXPECT_THAT(page.error().message, HasSubstr("0 backup(s)"));
}

constexpr std::int64_t kFaultRows = 3000;

TEST(IgniteFaultData, IsThere) {
  Cache cache(connected(), "faulty");
  ASSERT_TRUE(cache.get_or_create({}).has_value());
  fill(cache, kFaultRows, 500);
}

// One scan over a fresh connection; true: it gave all rows.
bool scan_survives(const ClusterOptions& options) {
  const auto is_clear = [](const Error& error) {
    EXPECT_THAT(error.code, AnyOf(Code::kUnavailable, Code::kDeadlineExceeded, Code::kUnauthenticated,
                                  Code::kUnknown, Code::kDataLoss))
        << error.message;
    EXPECT_GT(error.message.size(), 20U);
    return false;
  };
  const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options);
  if (!cluster) return is_clear(cluster.error());
  const Result<std::unique_ptr<Scan>> scan = Scan::open(Cache(*cluster, "faulty"), {.budget_bytes = 400'000});
  if (!scan) return is_clear(scan.error());
  std::map<std::int64_t, int> times;
  while (true) {
    const Result<std::optional<Page>> page = (*scan)->next_page();
    if (!page) return is_clear(page.error());
    if (!*page) break;
    count_rows(**page, 500, times);
  }
  expect_each_once(times, kFaultRows);
  return true;
}

// The address is that of a relay, which cuts, stalls and damages connections at random places.
TEST(IgniteFaults, GiveAllRowsOrAClearError) {
  ClusterOptions options = options_of_environment();
  options.discover = false;
  options.call_timeout = std::chrono::milliseconds(1000);
  options.connection.connect_timeout = std::chrono::milliseconds(1000);
  int survived = 0;
  const int rounds =
      static_cast<int>(parse_number<unsigned>(variable("HEADRACE_IGNITE_ROUNDS")).value_or(20));
  for (int round = 0; round < rounds; ++round) {
    options.seed = static_cast<std::uint64_t>(round);
    survived += scan_survives(options);
  }
  RecordProperty("survived", survived);
  EXPECT_GT(survived, 0);
}

Error error_of(const ClusterOptions& options) {
  const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options);
  return cluster ? Error{} : cluster.error();
}

TEST(IgniteSecure, WrongUsersAndPlainConnectionsAreRefused) {
  ClusterOptions options = options_of_environment();
  options.connection.credentials.password = "wrong";
  EXPECT_EQ(error_of(options).code, Code::kUnauthenticated) << error_of(options).message;
  EXPECT_THAT(error_of(options).message, testing::Not(HasSubstr("wrong")));
  options.connection.credentials = {};
  EXPECT_EQ(error_of(options).code, Code::kUnauthenticated) << error_of(options).message;
  options = options_of_environment();
  options.tls.ca_file.clear();
  EXPECT_EQ(error_of(options).code, Code::kUnauthenticated) << error_of(options).message;
  options = options_of_environment();
  options.connection.tls = false;
  EXPECT_THAT(error_of(options).message, HasSubstr("TLS"));
}

TEST(IgniteInactive, IsAnErrorThatSaysHowToActivate) {
  const auto cluster = connected();
  const Result<std::vector<std::string>> names = Cache::names(*cluster);
  const Status created = Cache(cluster, "new").get_or_create({});
  ASSERT_FALSE(created.has_value());
  EXPECT_EQ(created.error().code, Code::kFailedPrecondition) << created.error().message;
  EXPECT_THAT(created.error().message, HasSubstr("--set-state ACTIVE"));
}

TEST(IgniteClientCertificate, IsAskedForAndShown) {
  ClusterOptions options = options_of_environment();
  EXPECT_THAT(error_of(options).code, AnyOf(Code::kUnavailable, Code::kUnauthenticated));
  options.tls.certificate_file = variable("HEADRACE_IGNITE_CERTIFICATE_FILE");
  options.tls.key_file = variable("HEADRACE_IGNITE_KEY_FILE");
  const Result<std::shared_ptr<Cluster>> cluster = Cluster::connect(options);
  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  EXPECT_TRUE(Cache::names(**cluster).has_value());
}

TEST(IgniteStranger, OnThePortIsAnErrorWithinTheTime) {
  ClusterOptions options = options_of_environment();
  options.connection.connect_timeout = std::chrono::milliseconds(500);
  options.call_timeout = std::chrono::milliseconds(500);
  const Error error = error_of(options);
  EXPECT_THAT(error.code, AnyOf(Code::kUnavailable, Code::kDeadlineExceeded));
  EXPECT_THAT(error.message, HasSubstr("10800"));
}

// Keys of each type, with the partitions that a node computed.
TEST(IgniteAffinity, PartitionsAreThoseOfTheNode) {
  std::ifstream lines(variable("HEADRACE_IGNITE_PARTITIONS"));
  std::map<int, int> checked;  // by type code
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = split(line, '\t');
    ASSERT_EQ(fields.size(), 3U);
    Bytes key;
    for (std::size_t i = 0; i < fields[2].size(); i += 2)
      key.push_back(static_cast<std::byte>(std::stoi(fields[2].substr(i, 2), nullptr, 16)));
    const std::optional<std::int32_t> hash = key_hash(key);
    ASSERT_TRUE(hash.has_value()) << line;
    EXPECT_EQ(partition_of_hash(*hash, std::stoi(fields[0])), std::stoi(fields[1])) << line;
    ++checked[static_cast<int>(key.front())];
  }
  EXPECT_EQ(checked.size(), 12U);  // two kinds of string have one code
  for (const auto& [type, count] : checked) EXPECT_GE(count, 3000) << type;
}

}  // namespace
}  // namespace headrace::ignite

// Queries and writes through a relay that cuts, stalls and damages connections, which
// tests/python/test_ignite.py starts: HEADRACE_IGNITE_ADDRESSES is the relay, HEADRACE_IGNITE_NODE the node.
// Each of HEADRACE_IGNITE_ROUNDS is a fresh cluster.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/access.h"
#include "headrace/net/ignite/cache.h"
#include "headrace/net/ignite/sql.h"

namespace headrace::ignite::faults_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AnyOf;

constexpr std::int64_t kRows = 3000;
constexpr std::int64_t kPutRows = 200;
constexpr std::size_t kTextBytes = 500;
// A call waits a second, and a query makes some; no fault may hold it up for much longer.
constexpr std::chrono::seconds kHang{30};

const Environment& environment() {
  static const Environment captured = Environment::capture();
  return captured;
}

int rounds() {
  return static_cast<int>(
      parse_number<unsigned>(environment().get("HEADRACE_IGNITE_ROUNDS").value_or("20")).value_or(20));
}

ClusterOptions options_of(std::string_view addresses) {
  const Result<ClusterOptions> options =
      cluster_options(environment().get(addresses).value_or(""), environment());
  EXPECT_TRUE(options) << options.error().message;
  return options ? *options : ClusterOptions();
}

Result<std::shared_ptr<Cluster>> faulty_cluster(int round) {
  ClusterOptions options = options_of("HEADRACE_IGNITE_ADDRESSES");
  options.discover = false;
  options.call_timeout = milliseconds(1000);
  options.connection.connect_timeout = milliseconds(1000);
  options.seed = static_cast<std::uint64_t>(round);
  return Cluster::connect(std::move(options));
}

std::shared_ptr<Cluster> sound_cluster() {
  const auto cluster = Cluster::connect(options_of("HEADRACE_IGNITE_NODE"));
  EXPECT_TRUE(cluster) << cluster.error().message;
  return *cluster;
}

std::string text_of(std::int64_t id) { return concat("row ", id, ' ', std::string(kTextBytes, 'x')); }

// True: it was carried out; otherwise the error is one that a user can understand.
bool is_done(const Status& outcome) {
  if (outcome) return true;
  const Error& error = outcome.error();
  EXPECT_THAT(error.code, AnyOf(Code::kUnavailable, Code::kDeadlineExceeded, Code::kUnauthenticated,
                                Code::kUnknown, Code::kDataLoss))
      << error.message;
  EXPECT_GT(error.message.size(), 20U);
  return false;
}

// Does something once a round, and counts how often it was carried out.
template <typename Work>
int count_done(const Work& work) {
  int done = 0;
  for (int round = 0; round < rounds(); ++round) {
    const auto start = steady_clock::now();
    done += is_done(work(round));
    EXPECT_LT(steady_clock::now() - start, kHang) << "round " << round;
  }
  return done;
}

Status read_all_rows(int round) {
  HEADRACE_TRY(auto cluster, faulty_cluster(round));
  HEADRACE_TRY(const auto result,
               SqlResult::run(std::move(cluster),
                              {.text = "SELECT ID, TEXT FROM FAULTS ORDER BY ID", .is_select = true}));
  std::int64_t id = 0;
  while (true) {
    HEADRACE_TRY(std::optional<SqlPage> page, result->next_page());
    if (!page) break;
    for (std::vector<BytesView> row; page->next(row); ++id) {
      EXPECT_TRUE(std::ranges::equal(row.at(0), encode_long(id))) << id;
      EXPECT_TRUE(std::ranges::equal(row.at(1), encode_string(text_of(id)))) << id;
    }
  }
  EXPECT_EQ(id, kRows);
  return {};
}

TEST(IgniteFaultData, HasATable) {
  const std::shared_ptr<Cluster> cluster = sound_cluster();
  const auto run = [&](const SqlQuery& query) {
    const auto result = SqlResult::run(cluster, query);
    ASSERT_TRUE(result) << result.error().message;
  };
  run({.text = "CREATE TABLE IF NOT EXISTS FAULTS (ID LONG PRIMARY KEY, TEXT VARCHAR)"});
  SqlQuery rows{.text = "MERGE INTO FAULTS (ID, TEXT) VALUES "};
  for (std::int64_t id = 0; id < kRows; ++id) {
    rows.text += id == 0 ? "(?, ?)" : ", (?, ?)";
    rows.arguments.push_back(encode_long(id));
    rows.arguments.push_back(encode_string(text_of(id)));
  }
  run(rows);
  ASSERT_TRUE(Cache(cluster, "put through faults").get_or_create({}));
}

TEST(IgniteFaults, AQueryGivesAllRowsOrAClearError) { EXPECT_GT(count_done(read_all_rows), 0); }

// Entries that `put_all` says are put are there.
TEST(IgniteFaults, EntriesArePutOrThereIsAClearError) {
  Cache sound(sound_cluster(), "put through faults");
  std::vector<Bytes> keys;
  for (std::int64_t id = 0; id < kPutRows; ++id) keys.push_back(encode_long(id));
  const auto put = [&](int round) -> Status {
    HEADRACE_TRY(auto cluster, faulty_cluster(round));
    std::vector<Bytes> values;
    for (std::int64_t id = 0; id < kPutRows; ++id)
      values.push_back(encode_string(text_of(id + 1000 * round)));
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < keys.size(); ++i) entries.push_back({keys[i], values[i]});
    HEADRACE_CHECK(Cache(std::move(cluster), "put through faults").put_all(entries));
    const auto stored = sound.get_all({keys.begin(), keys.end()});
    EXPECT_TRUE(stored) << stored.error().message;
    if (!stored) return {};
    EXPECT_EQ(stored->entries.size(), keys.size());
    for (const Entry& entry : stored->entries) {
      const auto id = load_little_endian<std::int64_t>(entry.key.data() + 1);
      EXPECT_TRUE(std::ranges::equal(entry.value, values.at(static_cast<std::size_t>(id)))) << id;
    }
    return {};
  };
  EXPECT_GT(count_done(put), 0);
}

}  // namespace
}  // namespace headrace::ignite::faults_test

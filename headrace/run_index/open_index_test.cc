#include "headrace/run_index/open_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/os/lock_file.h"
#include "headrace/run_index/local_disk.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"
#include "headrace/store/scratch_folder_test.h"
#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

auto* const cache_scratch = static_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));

constexpr int kRuns = 600;  // several transactions

// Kills the process at a read of an object.
class KillingStore : public ForwardingStore {
 public:
  KillingStore(std::shared_ptr<Store> below, int reads) : ForwardingStore(std::move(below)), left_(reads) {}
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (--left_ < 0) raise(SIGKILL);
    return inner().read_into(key, target, options);
  }

 private:
  std::atomic<int> left_;
};

class OpenIndexTest : public testing::Test {
 protected:
  void SetUp() override {
    cache_ = cache_scratch->new_root();
    for (int i = 0; i < kRuns; ++i) put_run(concat("run-", i));
  }

  void put_run(const std::string& run) {
    const std::string part = make_part_name(0, std::chrono::system_clock::time_point(), 7);
    RunStart start{.command = "train"};
    start.started = "2026-11-27T00:00:00.000Z";
    RunEnd end;
    end.metrics = {{"loss", static_cast<double>(run.size())}};
    ASSERT_TRUE(write_text(*store_, part_key(run, part, "start"), serialize_run_start(run, start)));
    ASSERT_TRUE(write_text(*store_, part_key(run, part, "end"), serialize_run_end(run, end)));
  }

  IndexFolder folder(std::string server = "") {
    return {cache_, std::move(server), [this](const std::string& message) { warnings_.push_back(message); }};
  }

  // The table, and how many records were read for it.
  std::vector<std::string> table(
      const IndexFolder& indexes, std::size_t* read = nullptr,
      const std::function<void()>& meanwhile = [] {}) {
    std::vector<std::string> ids;
    const Status used = indexes.use("memory://b", [&](RunIndex& index) -> Status {
      ids.clear();
      HEADRACE_TRY(const RefreshReport report, index.refresh_records(root_));
      if (read) *read = report.read;
      meanwhile();
      HEADRACE_TRY(const auto order, parse_order("metrics.loss", indexed_run_target()));
      HEADRACE_TRY(const auto found, index.find({.order = order, .most = 10000}));
      for (const IndexedRun& run : found) {
        HEADRACE_CHECK(index.record(run));
        HEADRACE_TRY(const auto metrics, index.metrics(run));
        for (const IndexedMetric& metric : metrics) ids.push_back(concat(run.id, " ", metric.value));
      }
      return {};
    });
    EXPECT_TRUE(used) << (used ? "" : used.error().message);
    return ids;
  }

  std::string file() const {
    for (const auto& entry : fs::directory_iterator(cache_ + "/runs")) {
      if (entry.path().extension() == ".sqlite") return entry.path();
    }
    return "";
  }

  const std::shared_ptr<Store> store_ = make_memory_store("b");
  Location root_{store_, "", StoreRegistry::parse("memory://b").value_or(Url())};
  std::string cache_;
  std::vector<std::string> warnings_;
};

TEST_F(OpenIndexTest, StoresOfOneUrlAndTwoServersHaveIndexesOfTheirOwn) {
  const IndexFolder one = folder("http://one:9000"), other = folder("http://other:9000");
  table(one);
  std::size_t read = 0;
  table(other, &read);
  EXPECT_EQ(read, static_cast<std::size_t>(kRuns));
  table(one, &read);
  EXPECT_EQ(read, 0U);
  EXPECT_THAT(one.roots(), testing::ElementsAre("memory://b"));
  EXPECT_THAT(other.roots(), testing::ElementsAre("memory://b"));
  EXPECT_THAT(folder("http://third:9000").roots(), testing::IsEmpty());
}

TEST_F(OpenIndexTest, AnIndexThatWasDeletedIsMadeAgain) {
  const IndexFolder indexes = folder();
  const auto expected = table(indexes);
  EXPECT_EQ(expected.size(), std::size_t{kRuns});
  std::size_t read = 1;
  EXPECT_EQ(table(indexes, &read), expected);
  EXPECT_EQ(read, 0U);
  fs::remove_all(cache_ + "/runs");
  EXPECT_EQ(table(folder(), &read), expected);
  EXPECT_EQ(read, std::size_t{kRuns});
  EXPECT_THAT(indexes.roots(), testing::ElementsAre("memory://b"));
  EXPECT_THAT(warnings_, testing::IsEmpty());
}

TEST_F(OpenIndexTest, DamageOfEveryKindHeals) {
  const IndexFolder indexes = folder();
  const auto expected = table(indexes);
  const std::string path = file();
  const auto size = fs::file_size(path);
  const std::vector<std::pair<std::string, std::function<void()>>> kinds = {
      {"empty", [&] { fs::resize_file(path, 0); }},
      {"half", [&] { fs::resize_file(path, size / 2); }},
      {"cut within a page", [&] { fs::resize_file(path, size - 100); }},
      {"another file", [&] { std::ofstream(path) << std::string(10'000, 'x'); }},
      {"the log", [&] { std::ofstream(path + "-wal") << std::string(10'000, 'x'); }},
      {"another version",
       [&] {
         DatabaseFailure failure = DatabaseFailure::kNone;
         fs::remove(path);
         ASSERT_TRUE(Database::open(path, "CREATE TABLE runs (x)", 77, failure));
       }},
      {"other tables",
       [&] {
         DatabaseFailure failure = DatabaseFailure::kNone;
         fs::remove(path);
         ASSERT_TRUE(Database::open(path, "CREATE TABLE runs (x)", RunIndex::layout_version(), failure));
       }},
  };
  for (const auto& [kind, damage] : kinds) {
    damage();
    EXPECT_EQ(table(indexes), expected) << kind;
    std::size_t read = 1;
    EXPECT_EQ(table(indexes, &read), expected) << kind;
    EXPECT_EQ(read, 0U) << kind << ": the index was not made again";
  }
  EXPECT_THAT(warnings_, testing::IsEmpty());
}

TEST_F(OpenIndexTest, TheCacheMayLieBehindALink) {
  const std::string real = cache_scratch->new_root();
  fs::create_directories(real);
  fs::create_directory_symlink(real, cache_);
  const auto expected = table(folder());
  std::size_t read = 1;
  EXPECT_EQ(table(folder(), &read), expected);
  EXPECT_EQ(read, 0U);
  EXPECT_THAT(warnings_, testing::IsEmpty());
  const std::string elsewhere = cache_scratch->new_root();
  const std::string path = file();
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_EQ(table(folder()), expected);  // a link in the place of the file is not followed
  EXPECT_THAT(warnings_, testing::ElementsAre(testing::HasSubstr("cannot be used")));
}

TEST_F(OpenIndexTest, NobodyElseCanReadIt) {
  fs::create_directories(cache_ + "/runs");
  fs::permissions(cache_ + "/runs", fs::perms::all);
  table(folder(), nullptr, [&] {
    constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;
    EXPECT_EQ(fs::status(cache_ + "/runs").permissions() & kOthers, fs::perms::none);
    for (const auto& entry : fs::directory_iterator(cache_ + "/runs"))
      EXPECT_EQ(entry.status().permissions() & kOthers, fs::perms::none) << entry.path();
  });
  EXPECT_THAT(warnings_, testing::IsEmpty());
  if (geteuid() != 0) return;  // only root can give a file away
  ASSERT_EQ(chown(file().c_str(), 65534, 65534), 0);
  EXPECT_EQ(table(folder()).size(), std::size_t{kRuns});
  EXPECT_THAT(warnings_, testing::ElementsAre(testing::HasSubstr("another user")));
}

// Whatever page is overwritten, a command ends, and never with an error.
TEST_F(OpenIndexTest, AnyPageMayBeOverwritten) {
  const IndexFolder indexes = folder();
  const auto expected = table(indexes);
  std::mt19937 random(7);
  for (int i = 0; i < 12; ++i) {
    const std::string path = file();
    const auto pages = fs::file_size(path) / 4096;
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(random() % pages) * 4096);
    for (int j = 0; j < 1024; ++j) {
      const auto word = static_cast<std::uint32_t>(random());
      stream.write(reinterpret_cast<const char*>(&word), 4);
    }
    stream.close();
    EXPECT_EQ(table(indexes), expected) << i;
  }
}

TEST_F(OpenIndexTest, AKilledRefreshLeavesWhatItHadCommitted) {
  const IndexFolder indexes = folder();
  const pid_t child = fork();
  if (child == 0) {
    root_.store = std::make_shared<KillingStore>(store_, 2 * (kRuns / 2));  // while the second half is read
    (void)table(indexes);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::size_t read = 0;
  EXPECT_EQ(table(indexes, &read).size(), std::size_t{kRuns});
  EXPECT_GT(read, 0U);
  EXPECT_LT(read, std::size_t{kRuns});
  EXPECT_THAT(warnings_, testing::IsEmpty());
}

TEST_F(OpenIndexTest, AKillWithinATransactionUndoesIt) {
  const IndexFolder indexes = folder();
  const pid_t child = fork();
  if (child == 0) {
    (void)indexes.use("memory://b", [&](RunIndex& index) -> Status {
      (void)index.refresh_records(root_);
      return {};
    });
    put_run("run-killed");
    DatabaseFailure failure = DatabaseFailure::kNone;
    auto database = Database::open(file(), "", RunIndex::layout_version(), failure);
    if (database && database->begin() && database->run({"DELETE FROM runs"})) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::size_t read = 1;
  EXPECT_EQ(table(indexes, &read).size(), std::size_t{kRuns});
  EXPECT_EQ(read, 0U);
  EXPECT_THAT(warnings_, testing::IsEmpty());
}

TEST_F(OpenIndexTest, ProcessesThatRefreshAtOnceMakeOneTable) {
  const IndexFolder indexes = folder();
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    // One that waits too long for the others reads the store without the index, and says so.
    if (child == 0) _exit(table(indexes).size() == std::size_t{kRuns} ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::size_t read = 1;
  EXPECT_EQ(table(indexes, &read).size(), std::size_t{kRuns});
  EXPECT_EQ(read, 0U);
}

TEST_F(OpenIndexTest, AStalledProcessDoesNotKeepOthersFromTheirTables) {
  const IndexFolder indexes = folder();
  const auto expected = table(indexes);
  DatabaseFailure failure = DatabaseFailure::kNone;
  auto stalled = Database::open(file(), "", RunIndex::layout_version(), failure);
  ASSERT_TRUE(stalled && stalled->begin());
  put_run("run-new");
  std::size_t read = 0;
  EXPECT_EQ(table(indexes, &read).size(), expected.size() + 1);
  EXPECT_EQ(read, 1U);  // the others come from the file
  EXPECT_THAT(warnings_, testing::ElementsAre(testing::HasSubstr("locked")));
}

TEST_F(OpenIndexTest, FilesOfTwoLayoutsLieSideBySide) {
  table(folder());
  EXPECT_THAT(file(), testing::EndsWith(concat("-v", RunIndex::layout_version(), ".sqlite")));
  std::ofstream(cache_ + "/runs/0123456789abcdef-v1.sqlite") << "of an earlier program";
  EXPECT_THAT(folder().roots(), testing::ElementsAre("memory://b"));
}

TEST_F(OpenIndexTest, ADamagedFileThatAnotherHasOpenIsLeftAlone) {
  const IndexFolder indexes = folder();
  const auto expected = table(indexes);
  const std::string path = file();
  const FileDescriptor other = open_share_locked(path + ".lock", O_RDWR);
  ASSERT_TRUE(other.is_open());
  std::ofstream(path) << std::string(10'000, 'x');
  EXPECT_EQ(table(indexes), expected);
  EXPECT_EQ(fs::file_size(path), 10'000U);
  EXPECT_THAT(warnings_, testing::ElementsAre(testing::HasSubstr("cannot be used")));
}

TEST_F(OpenIndexTest, ATableIsMadeWithoutACache) {
  const auto expected = table(folder());
  const IndexFolder none(std::nullopt, "", [](const std::string&) {});
  EXPECT_EQ(table(none), expected);
  const std::string blocked = cache_scratch->new_root();
  std::ofstream{blocked} << "a file";
  std::vector<std::string> warnings;
  const IndexFolder in_a_file(blocked, "", [&](const std::string& message) { warnings.push_back(message); });
  EXPECT_EQ(table(in_a_file), expected);
  EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(OpenIndexTest, AnErrorOfTheStoreIsNotOneOfTheIndex) {
  const IndexFolder indexes = folder();
  int calls = 0;
  const Status used = indexes.use("memory://b", [&](RunIndex&) -> Status {
    ++calls;
    return Error{Code::kUnavailable, "the store is away"};
  });
  EXPECT_EQ(used.error().code, Code::kUnavailable);
  EXPECT_EQ(calls, 1);
}

TEST(LocalDisk, SomeFoldersAreLocal) {
  EXPECT_TRUE(is_on_local_disk("/dev/shm"));
  EXPECT_FALSE(is_on_local_disk("/there/is/none"));
}

}  // namespace
}  // namespace headrace

// Processes that share a cache, and are stopped or killed in it.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "headrace/base/environment.h"
#include "headrace/serve/version/export_cache.h"
#include "headrace/serve/version/published_models_test.h"
#include "headrace/store/file/file_store.h"
#include "headrace/store/layers/forwarding.h"

namespace {
// Called before and after a folder is renamed.
std::function<void(bool is_done)> around_rename;
// Called before files are locked, made, renamed and removed.
std::function<void()> before_call;
// Called with the path of a file that is to be locked, and when it is locked already.
std::function<void(const std::string&)> before_lock_of;
std::function<void()> after_refused_lock;

std::string path_of(int file) {
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file)).string();
}
}  // namespace

// In place of the C library's, for all of this program. The name in C++ is another's: `struct flock`.
extern "C" int lock_shared_file(int file, int operation) noexcept __asm__("flock");
extern "C" int lock_shared_file(int file, int operation) noexcept {
  if (before_call) before_call();
  if (before_lock_of) before_lock_of(path_of(file));
  const int result = static_cast<int>(syscall(SYS_flock, file, operation));
  if (result != 0 && after_refused_lock) after_refused_lock();
  return result;
}

extern "C" int make_any_folder(const char* path, mode_t mode) noexcept __asm__("mkdir");
extern "C" int make_any_folder(const char* path, mode_t mode) noexcept {
  if (before_call) before_call();
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

extern "C" int remove_any_file(const char* path) noexcept __asm__("unlink");
extern "C" int remove_any_file(const char* path) noexcept {
  if (before_call) before_call();
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

extern "C" int renamed(const char* from, const char* to) noexcept __asm__("rename");
extern "C" int renamed(const char* from, const char* to) noexcept {
  if (before_call) before_call();
  if (around_rename) around_rename(false);
  const int result = static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
  const int number = errno;
  if (around_rename) around_rename(true);
  errno = number;
  return result;
}

namespace headrace {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Seen by a process and by those that it forks.
struct SharedNumbers {
  std::atomic<std::uint64_t> reads;
  std::atomic<bool> was_refused;
};

// Counts the reads, and calls `before_read` with the number of each.
class WatchedStore final : public ForwardingStore {
 public:
  WatchedStore(std::shared_ptr<Store> store, SharedNumbers& numbers)
      : ForwardingStore(std::move(store)), numbers_(numbers) {}
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    const std::uint64_t number = ++numbers_.reads;
    if (before_read) before_read(number);
    return inner().read_into(key, target, options);
  }
  std::function<void(std::uint64_t)> before_read;

 private:
  SharedNumbers& numbers_;
};

class ProcessesWithACache : public testing::Test {
 protected:
  ProcessesWithACache()
      : scratch((fs::temp_directory_path() / concat("processes-", hex64(random_name_bits()))).string()),
        cache_folder(scratch + "/cache"),
        numbers(*new (mmap(nullptr, sizeof(SharedNumbers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                           -1, 0)) SharedNumbers{}) {
    store = std::make_shared<WatchedStore>(make_file_store(scratch + "/store"), numbers);
    place.store = store;
    publish_version(place, 1, "one");
    const auto source = open_model_source(version_folder(place, 1), {});
    version = *(*source)->wanted().versions.at(0);
    numbers.reads = 0;
  }
  void TearDown() override {
    around_rename = nullptr;
    before_call = nullptr;
    before_lock_of = nullptr;
    fs::remove_all(scratch);
    munmap(&numbers, sizeof(SharedNumbers));
  }

  Result<CachedExport> fetch(const ExportCacheOptions& options = {.threads = 1}) {
    HEADRACE_TRY(const auto cache, ExportCache::open(cache_folder, options));
    return cache->fetch(version, {});
  }
  // A process that runs `work`, and ends with its result.
  static pid_t start(const std::function<int()>& work) {
    const pid_t child = fork();
    if (child == 0) _exit(work());
    return child;
  }
  static int wait_for(pid_t child) {
    int state = 0;
    EXPECT_EQ(waitpid(child, &state, 0), child);
    return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  }
  // A process that fetches, and gets the signal before the read of that number.
  pid_t start_stopped_fetch(std::uint64_t read, int signal) {
    return start([&, read, signal] {
      store->before_read = [read, signal](std::uint64_t number) {
        if (number == read) raise(signal);
      };
      return fetch() ? 0 : 1;
    });
  }
  void wait_until_stopped(pid_t child) const {
    int state = 0;
    ASSERT_EQ(waitpid(child, &state, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(state));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(cache_folder))
      out.push_back(entry.path().filename().string());
    std::ranges::sort(out);
    return out;
  }
  void expect_cached(const Result<CachedExport>& cached) const {
    ASSERT_TRUE(cached) << cached.error().message;
    for (const auto& [name, text] : model_files("one")) {
      std::ifstream file(cached->path() + "/" + name, std::ios::binary);
      EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
    }
    EXPECT_THAT(names(), ElementsAre(version.digest, version.digest + ".fetch", version.digest + ".use"));
  }

  const std::string scratch;
  const std::string cache_folder;
  SharedNumbers& numbers;
  std::shared_ptr<WatchedStore> store;
  Location place;
  WantedVersion version;
};

TEST_F(ProcessesWithACache, KilledInAnyReadLeaveNothingThatTheNextDoesNotRemove) {
  for (std::uint64_t read = 1; read <= 3; ++read) {
    fs::remove_all(cache_folder);
    numbers.reads = 0;
    EXPECT_EQ(wait_for(start_stopped_fetch(read, SIGKILL)), 128 + SIGKILL);
    EXPECT_EQ(numbers.reads, read);
    EXPECT_FALSE(fs::exists(cache_folder + "/" + version.digest));
    expect_cached(fetch());
    EXPECT_EQ(numbers.reads, read + 3);
  }
}

TEST_F(ProcessesWithACache, KilledAroundTheRenameHaveFetchedAllOrNothing) {
  for (const bool is_after : {false, true}) {
    fs::remove_all(cache_folder);
    const pid_t child = start([&] {
      around_rename = [&](bool is_done) {
        if (is_done == is_after) raise(SIGKILL);
      };
      return fetch() ? 0 : 1;
    });
    EXPECT_EQ(wait_for(child), 128 + SIGKILL);
    EXPECT_EQ(fs::exists(cache_folder + "/" + version.digest), is_after);
    numbers.reads = 0;
    expect_cached(fetch());
    EXPECT_EQ(numbers.reads, is_after ? 0U : 3U);
  }
}

TEST_F(ProcessesWithACache, KilledWhileTheyRemoveLeaveNothingThatTheNextDoesNotRemove) {
  for (const bool is_after : {false, true}) {
    ASSERT_TRUE(fetch());
    const pid_t child = start([&] {
      around_rename = [&](bool is_done) {
        if (is_done == is_after) raise(SIGKILL);
      };
      return ExportCache::open(cache_folder, {.bound_bytes = 0}) ? 0 : 1;
    });
    EXPECT_EQ(wait_for(child), 128 + SIGKILL);
    EXPECT_EQ(fs::exists(cache_folder + "/" + version.digest), !is_after);
    expect_cached(fetch());
  }
}

// The child removes one entry and fetches another.
TEST_F(ProcessesWithACache, KilledBeforeAnyChangeLeaveNothingThatTheNextDoesNotRemove) {
  publish_version(place, 2, "two");
  const auto source = open_model_source(version_folder(place, 2), {});
  const WantedVersion former = *(*source)->wanted().versions.at(0);
  int state = 128 + SIGKILL;
  int killed = 0;
  for (int call = 1; state == 128 + SIGKILL; ++call) {
    ASSERT_TRUE((*ExportCache::open(cache_folder))->fetch(former, {}));
    state = wait_for(start([&] {
      int calls = 0;
      before_call = [&] {
        if (++calls == call) raise(SIGKILL);
      };
      return fetch({.bound_bytes = 1, .threads = 1}) ? 0 : 1;
    }));
    if (state != 0) ++killed;
    ASSERT_TRUE(fetch());
    ASSERT_TRUE(ExportCache::open(cache_folder, {.bound_bytes = 0}));
    EXPECT_THAT(names(), IsEmpty()) << "killed before call " << call;
  }
  EXPECT_EQ(state, 0);
  EXPECT_GT(killed, 10);
  RecordProperty("killed", killed);
}

TEST_F(ProcessesWithACache, FetchOnceIfTheyAreManyAtATime) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) children.push_back(start([&] { return fetch() ? 0 : 1; }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(numbers.reads, 3U);
  expect_cached(fetch());
}

TEST_F(ProcessesWithACache, KeepWhatAnotherHasFetchedJustBeforeTheyHadTheLock) {
  std::optional<CachedExport> others;
  before_lock_of = [&](const std::string& path) {
    if (!path.ends_with(".fetch")) return;
    before_lock_of = nullptr;
    auto fetched = fetch();
    if (fetched) others = *std::move(fetched);
  };
  expect_cached(fetch());
  EXPECT_TRUE(others);
  EXPECT_EQ(numbers.reads, 3U);
}

TEST_F(ProcessesWithACache, TellThoseThatWaitThatTheyMakeProgress) {
  const std::string lock = cache_folder + "/" + version.digest + ".fetch";
  std::optional<fs::file_time_type> now;
  int touched = 0;
  store->before_read = [&](std::uint64_t) {
    if (!now) now = fs::last_write_time(lock);
    if (fs::last_write_time(lock) >= *now) ++touched;
    fs::last_write_time(lock, *now - std::chrono::hours(1));
  };
  ASSERT_TRUE(fetch());
  EXPECT_EQ(touched, 3);
}

TEST_F(ProcessesWithACache, TakeOverFromOneThatIsKilledWhileTheyWait) {
  const pid_t stopped = start_stopped_fetch(2, SIGSTOP);
  wait_until_stopped(stopped);
  const pid_t waiting = start([&] {
    after_refused_lock = [&] { numbers.was_refused = true; };
    return fetch() ? 0 : 1;
  });
  while (!numbers.was_refused) std::this_thread::yield();
  ASSERT_EQ(kill(stopped, SIGKILL), 0);
  EXPECT_EQ(wait_for(stopped), 128 + SIGKILL);
  EXPECT_EQ(wait_for(waiting), 0);
  EXPECT_EQ(numbers.reads, 5U);
  expect_cached(fetch());
}

TEST_F(ProcessesWithACache, LoseNoMoreThanTheirPatienceToOneThatIsStalled) {
  const pid_t stalled = start_stopped_fetch(2, SIGSTOP);
  wait_until_stopped(stalled);
  const auto fetched = fetch({.threads = 1, .patience = std::chrono::milliseconds(60)});
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(numbers.reads, 5U);
  ASSERT_EQ(kill(stalled, SIGCONT), 0);
  EXPECT_EQ(wait_for(stalled), 0) << "it takes the entry that it finds";
  EXPECT_EQ(numbers.reads, 6U);
  expect_cached(fetched);
}

TEST_F(ProcessesWithACache, AreToldOfOneThatIsStalledWhileItRemoves) {
  ASSERT_TRUE(fetch());
  const pid_t stalled = start([&] {
    around_rename = [&](bool is_done) {
      if (!is_done) raise(SIGSTOP);
    };
    return ExportCache::open(cache_folder, {.bound_bytes = 0}) ? 0 : 1;
  });
  wait_until_stopped(stalled);
  const auto fetched = fetch({.threads = 1, .patience = std::chrono::milliseconds(60)});
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, Code::kUnavailable);
  EXPECT_THAT(fetched.error().message, HasSubstr(version.digest + ".use"));
  ASSERT_EQ(kill(stalled, SIGCONT), 0);
  EXPECT_EQ(wait_for(stalled), 0);
  expect_cached(fetch());
}

TEST_F(ProcessesWithACache, RemoveNothingThatAnotherUses) {
  const pid_t holder = start([&] {
    const auto held = fetch();
    raise(SIGSTOP);
    return held && fs::exists(held->path() + "/saved_model.pb") ? 0 : 1;
  });
  wait_until_stopped(holder);
  ASSERT_TRUE(ExportCache::open(cache_folder, {.bound_bytes = 0}));
  EXPECT_TRUE(fs::exists(cache_folder + "/" + version.digest));
  ASSERT_EQ(kill(holder, SIGCONT), 0);
  EXPECT_EQ(wait_for(holder), 0);
  ASSERT_TRUE(ExportCache::open(cache_folder, {.bound_bytes = 0}));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ProcessesWithACache, SayThatTheDiskIsFullAndLeaveNothing) {
  const pid_t child = start([&] {
    // The system refuses to write, as it does on a full disk.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit none{4, 4};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) return 1;
    const auto fetched = fetch();
    if (fetched || fetched.error().code != Code::kResourceExhausted) return 2;
    return fetched.error().message.find("free some space there") == std::string::npos ? 3 : 0;
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_THAT(names(), ElementsAre(version.digest + ".fetch", version.digest + ".use"));
  expect_cached(fetch());
}

TEST_F(ProcessesWithACache, ReplaceADamagedEntryOnce) {
  ASSERT_TRUE(fetch());
  std::ofstream(cache_folder + "/" + version.digest + "/model/saved_model.pb") << "grXph one";
  numbers.reads = 0;
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) children.push_back(start([&] { return fetch() ? 0 : 1; }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(numbers.reads, 3U);
  expect_cached(fetch());
}

}  // namespace
}  // namespace headrace

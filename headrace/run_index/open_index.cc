#include "headrace/run_index/open_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/lock_file.h"
#include "headrace/run_index/local_disk.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameDigits = 16;
constexpr std::string_view kVersionMark = "-v";
constexpr std::string_view kIndexSuffix = ".sqlite";
// Attempts to lock a file, for the case that another process rebuilds a damaged file.
constexpr int kLockAttempts = 20;
constexpr std::chrono::milliseconds kBetweenAttempts{100};

FileDescriptor share_lock(const std::string& path) {
  FileDescriptor lock = open_share_locked(path + ".lock", O_RDWR | O_CREAT);
  for (int i = 0; i < kLockAttempts && !lock.is_open() && errno == EWOULDBLOCK; ++i) {
    std::this_thread::sleep_for(kBetweenAttempts);
    lock = open_share_locked(path + ".lock", O_RDWR | O_CREAT);
  }
  return lock;
}

bool is_missing(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) != 0 && errno == ENOENT;
}

// Removes a damaged file, unless another process has it open.
bool remove_index(const std::string& path) {
  const FileDescriptor lock = open_locked(path + ".lock", O_RDWR | O_CREAT);
  if (!lock.is_open()) return false;
  std::error_code error;
  for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) {
    fs::remove_all(concat(path, suffix), error);
    if (error) return false;
  }
  return true;
}

// Creates the file if it is missing, for this user alone: SQLite would create it for all users. An existing
// file is not opened, because closing it would drop the locks that SQLite holds on it in this process.
Status make_file(const std::string& path) {
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (made >= 0) {
    const FileDescriptor closed(made);
    return {};
  }
  if (errno != EEXIST) return Error{Code::kFailedPrecondition, concat(path, ": ", std::strerror(errno))};
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0)
    return Error{Code::kFailedPrecondition, concat(path, ": ", std::strerror(errno))};
  if (found.st_uid != geteuid())
    return Error{Code::kFailedPrecondition, concat(path, " belongs to another user: remove it")};
  return {};
}

// SQLite writes whole pages. It would read the missing rest of a cut page as zeros, so rows would be missing.
bool is_cut(const std::string& path) {
  constexpr std::uintmax_t kPageBytes = 4096;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return !error && size % kPageBytes != 0;
}

struct Attempt {
  Status status;
  DatabaseFailure failure = DatabaseFailure::kNone;
};

using OpenIndex = Result<RunIndex>(const std::string& path, const std::string& root_url,
                                   DatabaseFailure& failure);

Attempt attempt(const std::string& path, const std::string& root_url,
                const std::function<Status(RunIndex&)>& use, OpenIndex* open = &RunIndex::open) {
  Attempt made;
  auto index = open(path, root_url, made.failure);
  if (!index) {
    made.status = index.error();
    return made;
  }
  made.status = use(*index);
  made.failure = index->failure();
  return made;
}

// Creates a missing file while no other process has it open: several processes that create it at the same
// time would wait for each other in ways that SQLite does not bound. If the lock is not free, the caller
// creates the file without it.
void make_alone(const std::string& path, const std::string& root_url) {
  if (!is_missing(path)) return;
  const FileDescriptor lock = open_locked(path + ".lock", O_RDWR | O_CREAT);
  if (!lock.is_open() || !is_missing(path) || !make_file(path)) return;
  DatabaseFailure failure = DatabaseFailure::kNone;
  (void)RunIndex::open(path, root_url, failure);  // a failure here occurs again in the caller
}

Attempt attempt_file(const std::string& path, const std::string& root_url,
                     const std::function<Status(RunIndex&)>& use) {
  make_alone(path, root_url);
  const FileDescriptor lock = share_lock(path);
  if (!lock.is_open()) {
    return {Error{Code::kFailedPrecondition, concat(path, ".lock: ", std::strerror(errno))},
            DatabaseFailure::kUnusable};
  }
  if (const Status made = make_file(path); !made) return {made, DatabaseFailure::kUnusable};
  if (is_cut(path))
    return {Error{Code::kFailedPrecondition, path + " was cut within a page"}, DatabaseFailure::kDamaged};
  return attempt(path, root_url, use);
}

// Rebuilds a damaged file.
Attempt attempt_kept(const std::string& path, const std::string& root_url,
                     const std::function<Status(RunIndex&)>& use) {
  Attempt made = attempt_file(path, root_url, use);
  const bool is_new = made.failure == DatabaseFailure::kDamaged && remove_index(path);
  return is_new ? attempt_file(path, root_url, use) : made;
}

}  // namespace

IndexFolder::IndexFolder(std::optional<std::string> cache, std::string server,
                         std::function<void(const std::string&)> warn)
    : server_(std::move(server)), warn_(std::move(warn)) {
  if (!cache) return;
  std::string folder = *cache + "/runs";
  std::error_code error;
  fs::create_directories(folder, error);
  // Only this user may see parameters and outputs. Fails for a folder of another user.
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  // Links above the file belong to the user, so they are resolved here: SQLite must not follow any.
  if (!error) folder = fs::canonical(folder, error);
  if (error) {
    warn_(concat("no index of runs is kept: ", folder, ": ", error.message()));
  } else if (!is_on_local_disk(folder)) {
    warn_(concat("no index of runs is kept, since ", folder,
                 " is on a remote disk: set XDG_CACHE_HOME to a folder of this machine"));
  } else {
    folder_ = folder;
  }
}

std::string IndexFolder::path_of(const std::string& root_url) const {
  const std::string place = concat(server_, " ", root_url);
  return concat(*folder_, "/", sha256_hex(as_bytes(place)).substr(0, kNameDigits), kVersionMark,
                RunIndex::layout_version(), kIndexSuffix);
}

Status IndexFolder::use(const std::string& root_url, const std::function<Status(RunIndex&)>& use) const {
  if (folder_) {
    const std::string path = path_of(root_url);
    Attempt made = attempt_kept(path, root_url, use);
    if (made.status || made.failure == DatabaseFailure::kNone) return made.status;
    if (made.failure == DatabaseFailure::kBusy) {
      warn_(concat("another process has locked the index of runs ", path,
                   ", so new and changed runs are not stored in it: ", made.status.error().message));
      made = attempt(path, root_url, use, &RunIndex::open_copy);
      if (made.status || made.failure == DatabaseFailure::kNone) return made.status;
    }
    warn_(concat("the index of runs ", path,
                 " cannot be used, so this command continues without it: ", made.status.error().message));
  }
  return attempt("", root_url, use).status;
}

Result<bool> IndexFolder::use_kept(const std::string& root_url,
                                   const std::function<Status(RunIndex&)>& use) const {
  if (!folder_) return false;
  const Attempt made = attempt_kept(path_of(root_url), root_url, use);
  if (made.status) return true;
  if (made.failure == DatabaseFailure::kNone) return made.status.error();
  warn_(concat("the index of runs ", path_of(root_url), " cannot be used: ", made.status.error().message));
  return false;
}

std::vector<std::string> IndexFolder::roots() const {
  std::vector<std::string> roots;
  if (!folder_) return roots;
  const std::string suffix = concat(kVersionMark, RunIndex::layout_version(), kIndexSuffix);
  std::error_code error;
  for (fs::directory_iterator entry(*folder_, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().string().ends_with(suffix)) continue;
    const FileDescriptor lock = share_lock(entry->path());
    auto root = lock.is_open() ? RunIndex::root_of(entry->path()) : std::nullopt;
    if (root && path_of(*root) == entry->path()) roots.push_back(*std::move(root));
  }
  std::ranges::sort(roots);
  return roots;
}

}  // namespace headrace

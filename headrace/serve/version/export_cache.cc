#include "headrace/serve/version/export_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/os/lock_file.h"
#include "headrace/serve/version/version_files.h"
#include "headrace/store/staging.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLook{20};  // how often a waiting process checks again
constexpr std::string_view kUse = ".use";
constexpr std::string_view kFetch = ".fetch";
constexpr std::string_view kModel = "/model";
constexpr std::string_view kChecksums = "/checksums";

/// The paths of one version in the cache.
struct EntryPaths {
  EntryPaths(const std::string& folder, std::string_view digest)
      : entry(concat(folder, "/", digest)),
        use(entry + std::string(kUse)),
        fetch(entry + std::string(kFetch)) {}
  std::string entry;
  std::string use;
  std::string fetch;
  std::string model() const { return entry + std::string(kModel); }
};

bool is_there(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

// Changes when the file is written, replaced or removed.
std::string stamp_of(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return "";
  return concat(static_cast<std::uint64_t>(status.st_ino), " ", status.st_mtim.tv_sec, " ",
                status.st_mtim.tv_nsec, " ", status.st_ctim.tv_sec, " ", status.st_ctim.tv_nsec);
}

std::uint64_t bytes_below(const std::string& folder) {
  std::uint64_t bytes = 0;
  std::error_code failure;
  fs::recursive_directory_iterator entry(folder, failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const std::uint64_t size_bytes = entry->file_size(ignored);
    if (!ignored) bytes += size_bytes;
  }
  return bytes;
}

/// An entry that may be removed to make room.
struct KeptEntry {
  std::string digest;
  std::uint64_t size_bytes = 0;
  std::pair<std::int64_t, std::int64_t> used{};  // seconds and nanoseconds
};

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure))
    names.push_back(entry->path().filename().string());
  return names;
}

std::vector<KeptEntry> entries_in(const std::string& folder) {
  std::vector<KeptEntry> entries;
  for (std::string& name : names_in(folder)) {
    if (!is_digest(name)) continue;
    const EntryPaths paths(folder, name);
    KeptEntry kept{std::move(name), bytes_below(paths.entry), {}};
    struct stat status {};
    if (lstat(paths.use.c_str(), &status) == 0) kept.used = {status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    entries.push_back(std::move(kept));
  }
  std::ranges::sort(entries, {}, &KeptEntry::used);
  return entries;
}

// Moves an entry out of its place, and removes it. If the process is killed in between, the next StagedFolder
// removes the rest.
Status remove_entry(const std::string& folder, const std::string& entry) {
  HEADRACE_TRY(const StagedFolder trash, StagedFolder::create(folder));
  if (::rename(entry.c_str(), (trash.path() + "/entry").c_str()) != 0 && errno != ENOENT)
    return cache_error("removing", entry, errno);
  return {};
}

// Removes an unused entry and its locks. Returns false if the entry is in use, or cannot be removed.
bool remove_unused(const std::string& folder, const std::string& digest) {
  const EntryPaths paths(folder, digest);
  const FileDescriptor held = open_locked(paths.use, O_RDWR | O_CREAT);
  if (!held.is_open() || !remove_entry(folder, paths.entry)) return false;
  // A fetching process holds a shared lock on `.use`, so no process is fetching this entry.
  ::unlink(paths.fetch.c_str());
  ::unlink(paths.use.c_str());
  return true;
}

std::uint64_t free_bytes(const std::string& folder) {
  std::error_code failure;
  const fs::space_info space = fs::space(folder, failure);
  return failure ? ~std::uint64_t{0} : space.available;
}

// Removes the least recently used entries until `more_bytes` fit within the bound and on the disk. Returns
// the bytes that remain.
std::uint64_t make_room(const std::string& folder, std::uint64_t bound_bytes, std::uint64_t more_bytes) {
  const std::vector<KeptEntry> entries = entries_in(folder);
  std::uint64_t bytes = 0;
  for (const KeptEntry& kept : entries) bytes += kept.size_bytes;
  for (const KeptEntry& kept : entries) {
    const bool is_within = bytes <= bound_bytes && more_bytes <= bound_bytes - bytes;
    if (is_within && more_bytes <= free_bytes(folder)) break;
    if (remove_unused(folder, kept.digest)) bytes -= kept.size_bytes;
  }
  return bytes;
}

// Removes locks that failed fetches have left behind.
void remove_idle_locks(const std::string& folder) {
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(kUse)) continue;
    const std::string digest = name.substr(0, name.size() - kUse.size());
    if (is_digest(digest) && !is_there(EntryPaths(folder, digest).entry)) remove_unused(folder, digest);
  }
}

Status write_checksums(const WantedVersion& version, const std::vector<std::uint32_t>& checksums,
                       const std::string& path) {
  std::map<std::string, std::string, std::less<>> of_names;
  for (std::size_t i = 0; i < checksums.size(); ++i) of_names[version.files[i].name] = hex32(checksums[i]);
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << Json(of_names).dump() << "\n";
  file.close();
  return file.good() ? Status() : Status(cache_error("writing", path, errno != 0 ? errno : EIO));
}

// The checksums of an entry, from the manifest, or from the file that the fetch wrote. nullopt if a file has
// no checksum.
std::optional<std::vector<std::uint32_t>> checksums_of(const WantedVersion& version,
                                                       const std::string& path) {
  std::vector<std::uint32_t> checksums;
  for (const WantedFile& file : version.files) {
    if (file.crc32c) checksums.push_back(*file.crc32c);
  }
  if (checksums.size() == version.files.size()) return checksums;
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto read = read_json(text, path, [&](const Json& json) -> Result<std::vector<std::uint32_t>> {
    std::vector<std::uint32_t> found;
    for (const WantedFile& wanted : version.files) {
      std::uint32_t checksum = 0;
      const auto digits = json.get<std::string>(wanted.name);
      const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), checksum, 16);
      if (parsed.ec != std::errc{} || digits.size() != 8)
        return Error{Code::kDataLoss, concat(path, " has no checksum of ", wanted.name)};
      found.push_back(checksum);
    }
    return found;
  });
  return read ? std::optional(*std::move(read)) : std::nullopt;
}

/// Waits for another process's fetch.
class FetchWait {
 public:
  explicit FetchWait(std::chrono::milliseconds patience) : patience_(patience) {}

  /// Whether the other process has made no progress for too long.
  bool is_over() const { return waited_ >= patience_; }
  /// Waits a moment, or until `stop`. `fetch` is the other process's lock, which it touches as it progresses.
  void wait(const std::string& fetch, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, stop, kLook, [] { return false; });
    std::string stamp = stamp_of(fetch);
    waited_ = stamp == stamp_ ? waited_ + kLook : std::chrono::milliseconds(0);
    stamp_ = std::move(stamp);
  }

 private:
  const std::chrono::milliseconds patience_;
  std::chrono::milliseconds waited_{0};  // time since the other process made progress
  std::string stamp_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
};

}  // namespace

CachedExport::~CachedExport() {
  if (use_.is_open()) ::futimens(use_.get(), nullptr);
}

struct ExportCache::State {
  std::string folder;
  ExportCacheOptions options;
  std::mutex mutex;
  std::set<std::string> verified;  // stamps of entries whose checksums this process has verified

  Result<std::optional<CachedExport>> try_fetch(const WantedVersion& version, const CallOptions& call,
                                                const Progress& progress, FetchWait& wait);
  bool is_whole(const WantedVersion& version, const EntryPaths& paths);
  std::string keep_bound() const;
  Result<bool> fetch(const WantedVersion& version, const EntryPaths& paths, const FileDescriptor& lock,
                     const CallOptions& call, const Progress& progress);
  Result<bool> fetch_once(const WantedVersion& version, const EntryPaths& paths, const FetchOptions& options);
};

// Whether the entry exists and is undamaged.
bool ExportCache::State::is_whole(const WantedVersion& version, const EntryPaths& paths) {
  const std::string stamp = concat(version.digest, " ", stamp_of(paths.entry));
  if (!is_there(paths.entry) || !has_sizes(version, paths.model())) return false;
  {
    const std::scoped_lock lock(mutex);
    if (verified.contains(stamp)) return true;
  }
  const auto checksums = checksums_of(version, paths.entry + std::string(kChecksums));
  if (!checksums || !has_checksums(version, *checksums, paths.model(), options.threads)) return false;
  const std::scoped_lock lock(mutex);
  verified.insert(stamp);
  return true;
}

// Returns false if another process has put its entry there in the meantime.
Result<bool> ExportCache::State::fetch_once(const WantedVersion& version, const EntryPaths& paths,
                                            const FetchOptions& fetch_options) {
  HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(folder));
  const std::string made = staged.path() + "/entry";
  const std::string model = made + std::string(kModel);
  std::error_code failure;
  fs::create_directories(model, failure);
  if (failure) return cache_error("making", model, failure.value());
  HEADRACE_TRY(const auto checksums, fetch_files(version, model, fetch_options));
  HEADRACE_CHECK(write_checksums(version, checksums, made + std::string(kChecksums)));
  if (::rename(made.c_str(), paths.entry.c_str()) == 0) {
    const std::scoped_lock lock(mutex);
    verified.insert(concat(version.digest, " ", stamp_of(paths.entry)));
    return true;
  }
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  return cache_error("naming", paths.entry, errno);
}

Result<bool> ExportCache::State::fetch(const WantedVersion& version, const EntryPaths& paths,
                                       const FileDescriptor& lock, const CallOptions& call,
                                       const Progress& progress) {
  make_room(folder, options.bound_bytes, version.size_bytes);
  const std::uint64_t room_bytes = free_bytes(folder);
  if (version.size_bytes > room_bytes) {
    return Error{Code::kResourceExhausted,
                 concat(version.folder.describe(), " has ", format_size(version.size_bytes),
                        ", but the disk of the model cache in ", folder, " has room for only ",
                        format_size(room_bytes), ": free some space, or name a cache on a larger disk")};
  }
  std::atomic<std::uint64_t> done_bytes = 0;
  return fetch_once(version, paths,
                    {.threads = options.threads, .call = call, .advance = [&](std::uint64_t bytes) {
                       if (lock.is_open()) ::futimens(lock.get(), nullptr);
                       const std::uint64_t done = done_bytes += bytes;
                       if (progress) progress(done, version.size_bytes);
                     }});
}

// Returns a remark if the bound cannot be kept, else an empty text.
std::string ExportCache::State::keep_bound() const {
  const std::uint64_t bytes = make_room(folder, options.bound_bytes, 0);
  if (bytes <= options.bound_bytes) return "";
  return concat("The model cache in ", folder, " has ", format_size(bytes), ", more than its bound of ",
                format_size(options.bound_bytes), ", because all of it is in use.");
}

// nullopt: try again after a moment.
Result<std::optional<CachedExport>> ExportCache::State::try_fetch(const WantedVersion& version,
                                                                  const CallOptions& call,
                                                                  const Progress& progress, FetchWait& wait) {
  const EntryPaths paths(folder, version.digest);
  FileDescriptor use = open_share_locked(paths.use, O_RDWR | O_CREAT);
  if (!use.is_open() && errno != EWOULDBLOCK) return cache_error("opening", paths.use, errno);
  if (!use.is_open() && wait.is_over()) {
    return Error{Code::kUnavailable,
                 concat("another process has begun to remove ", paths.entry,
                        " and makes no progress: end the process that has the file ", paths.use, " open")};
  }
  if (!use.is_open()) return std::optional<CachedExport>();
  bool is_held = is_whole(version, paths);
  std::string remark;
  if (!is_held) {
    const FileDescriptor lock = open_locked(paths.fetch, O_RDWR | O_CREAT);
    if (!lock.is_open() && errno != EWOULDBLOCK) return cache_error("opening", paths.fetch, errno);
    if (!lock.is_open() && !wait.is_over()) return std::optional<CachedExport>();
    // Another process may have fetched the entry before this process got the lock.
    is_held = is_whole(version, paths);
    if (!is_held && is_there(paths.entry)) HEADRACE_CHECK(remove_entry(folder, paths.entry));
    if (!is_held) {
      HEADRACE_TRY(is_held, fetch(version, paths, lock, call, progress));
      remark = keep_bound();
    }
  }
  if (!is_held) return std::optional<CachedExport>();
  ::futimens(use.get(), nullptr);
  return std::optional(CachedExport(paths.model(), std::move(remark), std::move(use)));
}

ExportCache::ExportCache(std::unique_ptr<State> state) : state_(std::move(state)) {}
ExportCache::~ExportCache() = default;

Result<std::unique_ptr<ExportCache>> ExportCache::open(const std::string& folder,
                                                       const ExportCacheOptions& options) {
  HEADRACE_CHECK(StagedFolder::create(folder));
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->options = options;
  remove_idle_locks(folder);
  make_room(folder, options.bound_bytes, 0);
  return std::unique_ptr<ExportCache>(new ExportCache(std::move(state)));
}

Result<CachedExport> ExportCache::fetch(const WantedVersion& version, const CallOptions& call,
                                        const Progress& progress) {
  // File names are appended to the folder's path, so they are checked here, whatever the version's origin.
  HEADRACE_TRY(const auto checked, checked_version(version));
  FetchWait wait(state_->options.patience);
  for (;;) {
    if (call.stop.stop_requested())
      return Error{Code::kCancelled, concat("fetching ", version.folder.describe(), " was stopped")};
    HEADRACE_TRY(auto fetched, state_->try_fetch(*checked, call, progress, wait));
    if (fetched) return *std::move(fetched);
    wait.wait(EntryPaths(state_->folder, version.digest).fetch, call.stop);
  }
}

}  // namespace headrace

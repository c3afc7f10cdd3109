#pragma once

/// \file A folder on a local disk with the files of versions, shared by all processes of one user. Each
/// version is stored under its digest, so it is fetched once, whichever sources and processes need it.
///
/// `<folder>/<digest>/model/` has the files, `<folder>/<digest>/checksums` the CRC32C of each. A user of an
/// entry holds a shared lock on `<digest>.use`; a process that removes the entry needs an exclusive lock on
/// that file. A process that fetches holds `<digest>.fetch`. It fetches into its own StagedFolder
/// (store/staging.h) in the same folder, and renames that to `<digest>` once it has compared every checksum.
/// Nothing is synced: if a power failure damages an entry, its checksums do not match, and it is fetched
/// again.
///
/// Several processes at once:
/// * If two fetch the same version, the second waits for the first, and then finds the entry. If the first is
///   killed, the system releases its lock, and the second fetches. If the first makes no progress for
///   `patience`, the second fetches too; the first to rename wins, and the other drops its equal copy.
/// * A process that is killed at any point leaves no part of an entry under `<digest>`: the next `open` or
///   `fetch` in any process removes its StagedFolder.
/// * No process removes an entry that is in use. Its files stay in place until the CachedExport is destroyed,
///   unless they are damaged.
/// * A process that stalls while it removes an entry delays only those that need this entry: after `patience`
///   they get kUnavailable.
/// * A damaged entry is replaced by the process that finds the damage and holds `.fetch`. A process that has
///   opened the files keeps them; one that opens them at that moment may find none, and must fetch again.
/// * If the disk has no room for a version, unused entries are removed. If that is not enough, or another
///   program fills the disk meanwhile, the error is kResourceExhausted, and nothing of the fetch remains.
/// The locks are flock(2)'s: put the folder on a local disk.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "headrace/os/file_descriptor.h"
#include "headrace/serve/version/wanted_version.h"

namespace headrace {

/// The files of a version, which stay in place as long as this lives. Movable; any thread may read `path`.
class CachedExport {
 public:
  CachedExport(CachedExport&&) noexcept = default;
  CachedExport& operator=(CachedExport&&) noexcept = default;
  /// Records the time of last use, which decides what is removed first.
  ~CachedExport();

  /// The folder of the SavedModel. Do not write to it.
  const std::string& path() const { return path_; }
  /// A sentence for the operator if the files were just fetched and the cache now exceeds its bound, else
  /// empty.
  const std::string& remark() const { return remark_; }

 private:
  friend class ExportCache;
  CachedExport(std::string path, std::string remark, FileDescriptor use)
      : path_(std::move(path)), remark_(std::move(remark)), use_(std::move(use)) {}
  std::string path_;
  std::string remark_;
  FileDescriptor use_;
};

struct ExportCacheOptions {
  /// Bound on the size of the cache. Above it, unused entries are removed, the least recently used first.
  /// Entries in use may exceed the bound, even a single one: a remark says so. Files that are being fetched
  /// count only in the process that fetches them.
  std::uint64_t bound_bytes = std::uint64_t{64} << 30;
  /// Number of ranges of files that are read at the same time. Each takes a buffer of 4 MiB.
  int threads = 4;
  /// How long another process may make no progress while it fetches or removes an entry.
  std::chrono::milliseconds patience{60'000};
};

/// The cache. Thread-safe.
class ExportCache {
 public:
  /// Creates `folder`, for this user alone, if it does not exist. Removes what killed processes have left.
  /// \error kPermissionDenied, kResourceExhausted  as StagedFolder::create
  static Result<std::unique_ptr<ExportCache>> open(const std::string& folder,
                                                   const ExportCacheOptions& options = {});
  ~ExportCache();

  /// Called from any thread with the bytes fetched so far. Not called if nothing has to be fetched.
  using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)>;

  /// Returns the files of `version`, and fetches them if they are not in the cache. For files that were in
  /// the cache, it compares the checksums at the first use in this process, and only the sizes later.
  /// Cost: one request for each file and each 4 MiB; no requests if the files are in the cache.
  /// \error kDataLoss           a file of an export is missing, or its bytes differ from the manifest
  /// \error kAborted            an external SavedModel has changed since it was listed: poll again
  /// \error kResourceExhausted  the disk is full
  /// \error kUnavailable        another process is stalled while it removes the entry
  /// \error kCancelled          `call.stop` was requested
  Result<CachedExport> fetch(const WantedVersion& version, const CallOptions& call,
                             const Progress& progress = {});

 private:
  struct State;
  explicit ExportCache(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace headrace

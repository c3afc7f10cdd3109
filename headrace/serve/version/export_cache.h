#pragma once

/// \file A folder on a local disk with the files of versions, shared by all processes of one user. Each
/// version lies under its digest, so it is fetched once, whichever sources and processes want it.
///
/// `<folder>/<digest>/model/` has the files, `<folder>/<digest>/checksums` the CRC32C of each. A user of an
/// entry shares the lock of `<digest>.use`; a process that removes the entry needs that lock for itself
/// alone. A process that fetches holds `<digest>.fetch`. It fetches into a StagedFolder (store/staging.h) of
/// its own in the same folder, and renames that to `<digest>` when it has compared every checksum. Nothing is
/// synced: an entry that a power failure has damaged does not match its checksums, and is fetched again.
///
/// Two at once:
/// * Two fetch the same version: the second waits for the first, and finds the entry. If the first is killed,
///   the system drops its lock, and the second fetches. If the first makes no progress for `patience`, the
///   second fetches beside it; the first to rename wins, the other drops its copy, which is equal.
/// * A process that is killed anywhere leaves no part of an entry under `<digest>`: its StagedFolder is
///   removed by the next `open` or `fetch` in any process.
/// * An entry that somebody uses is not removed, by any process. Its files stay in place until the
///   CachedExport goes, unless they are damaged.
/// * A process that is stalled while it removes an entry holds up those that want that entry, and no others:
///   after `patience` they get kUnavailable.
/// * A damaged entry is replaced by whoever finds it so and holds `.fetch`. A process that has opened its
///   files keeps those; one that opens them in that moment may find none, and has to fetch again.
/// * The disk has no room for a version: what nobody uses is removed. If that is not enough, or somebody else
///   fills the disk meanwhile, the error is kResourceExhausted, and nothing of the fetch stays.
/// The locks are flock(2)'s: put the folder on a local disk.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "headrace/os/file_descriptor.h"
#include "headrace/serve/version/wanted_version.h"

namespace headrace {

/// The files of a version, which stay as long as this lives. Movable; any thread may read `path`.
class CachedExport {
 public:
  CachedExport(CachedExport&&) noexcept = default;
  CachedExport& operator=(CachedExport&&) noexcept = default;
  /// Notes the time, for what was used longest ago.
  ~CachedExport();

  /// The SavedModel's folder. Nobody may write to it.
  const std::string& path() const { return path_; }
  /// A sentence for the operator if the files were just fetched, and the cache is now larger than its bound.
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
  /// Entries that nobody uses are removed, the one that was used longest ago first. Entries in use may exceed
  /// the bound together, and so may one alone: a remark says so. Files that are being fetched count only for
  /// who fetches them.
  std::uint64_t bound_bytes = std::uint64_t{64} << 30;
  /// Ranges of files that are read at once. Each takes a buffer of 4 MiB.
  int threads = 4;
  /// How long another's fetch, or its removal of an entry, may make no progress.
  std::chrono::milliseconds patience{60'000};
};

/// Thread-safe.
class ExportCache {
 public:
  /// Makes `folder`, for this user alone, and removes what killed processes have left in it.
  /// \error kPermissionDenied, kResourceExhausted  as StagedFolder::create
  static Result<std::unique_ptr<ExportCache>> open(const std::string& folder,
                                                   const ExportCacheOptions& options = {});
  ~ExportCache();

  /// Called from any thread, with bytes that were fetched so far; not if nothing has to be fetched.
  using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)>;

  /// The files of `version`, fetched if they are not there. At the first use in this process, the checksums
  /// of files that were there are compared, later their sizes.
  /// Cost: a request for each 4 MiB and for each file; nothing is asked of the store if the files are there.
  /// \error kDataLoss           a file of an export is missing, or its bytes are others than the manifest
  ///                            says
  /// \error kAborted            somebody else's SavedModel has changed since it was listed: poll again
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

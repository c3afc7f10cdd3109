#pragma once

/// \file Finds and opens indexes of runs, and falls back to memory where a file cannot be used.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headrace/run_index/run_index.h"

namespace headrace {

/// The indexes that a user has on this machine, for tracking roots in one store. Thread-safe.
class IndexFolder {
 public:
  /// Creates the folder of the indexes. If it cannot be created, or is on a remote disk, no index is kept,
  /// and `warn` is told.
  /// \param cache   folder of the user's caches (base/environment.h); none: indexes are in memory
  /// \param server  of the store (StoreRegistry::server_of); two servers with the same URLs have two indexes
  /// \param warn    is told why an index is in memory; from any thread
  IndexFolder(std::optional<std::string> cache, std::string server,
              std::function<void(const std::string&)> warn);

  /// Calls `use` with the index of a tracking root. If its database fails, calls `use` again with another
  /// index: with a new file if the file was damaged; with a copy in memory if another process keeps the file
  /// locked; and if that fails, with an empty index in memory. So `use` must start from the beginning each
  /// time.
  /// \error as `use`; kFailedPrecondition  even the index in memory fails
  Status use(const std::string& root_url, const std::function<Status(RunIndex&)>& use) const;

  /// As `use`, but only with the file, for callers that have an alternative. Returns false if there is no
  /// file to use, or its database fails; then `warn` was told why, unless no index is kept. \error as `use`
  Result<bool> use_kept(const std::string& root_url, const std::function<Status(RunIndex&)>& use) const;

  /// URLs of the tracking roots in that store that have an index here, sorted.
  std::vector<std::string> roots() const;

 private:
  std::string path_of(const std::string& root_url) const;

  std::optional<std::string> folder_;
  std::string server_;
  std::function<void(const std::string&)> warn_;
};

}  // namespace headrace

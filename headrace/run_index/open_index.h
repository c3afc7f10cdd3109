#pragma once

/// \file Where indexes lie, and how a command goes on without one.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headrace/run_index/run_index.h"

namespace headrace {

/// The indexes of a user on this machine, of tracking roots in one store. Thread-safe.
class IndexFolder {
 public:
  /// `cache`: the folder of the user's caches (base/environment.h); none: indexes are made in memory.
  /// `server`: of the store (StoreRegistry::server_of); stores of one URL and two servers have two indexes.
  /// `warn` is told why an index is made in memory; from any thread.
  IndexFolder(std::optional<std::string> cache, std::string server,
              std::function<void(const std::string&)> warn);

  /// Calls `use` with the index of a tracking root. If its database fails, calls `use` once more, with an
  /// empty index: in a new file if the file was damaged, else in memory. So `use` begins anew each time.
  /// \error what `use` returns; kFailedPrecondition  even the index in memory fails
  Status use(const std::string& root_url, const std::function<Status(RunIndex&)>& use) const;

  /// The same with the file alone, for callers that have another way. False: there is no file, or it cannot
  /// be used, and `warn` was told why. \error what `use` returns
  Result<bool> use_kept(const std::string& root_url, const std::function<Status(RunIndex&)>& use) const;

  /// URLs of the tracking roots of that store that have an index here, sorted.
  std::vector<std::string> roots() const;

 private:
  std::string path_of(const std::string& root_url) const;

  std::optional<std::string> folder_;
  std::string server_;
  std::function<void(const std::string&)> warn_;
};

}  // namespace headrace

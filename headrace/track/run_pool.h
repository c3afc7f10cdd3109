#pragma once

/// \file Records of runs of several tracking roots, read as they are needed.

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "headrace/store/registry.h"
#include "headrace/track/catalog.h"
#include "headrace/track/runs.h"

namespace headrace {

/// Holds those runs that were asked for, each once, and all of version 1. Roots are those that were added,
/// and the tracking roots of every input that a run held here names, `kMaximumRoots` in all; for more than
/// `kMaximumFolders` folders of inputs, none is looked for. An error below
/// one of the latter becomes a remark. Not thread-safe. `registry` must outlive it.
class RunPool {
 public:
  explicit RunPool(StoreRegistry& registry, CallOptions call = {})
      : registry_(registry), call_(std::move(call)) {}

  /// Reads the runs of version 1 below `root`; if there is no catalog, reads all runs. Does nothing for a
  /// root that was added before.
  Status add(const Location& root);
  /// For tests and other sources of records.
  void add(RunRecord run) { runs_.push_back(std::move(run)); }

  /// From now on `runs` holds all runs that may have made the artifact, or a URL in it or around it.
  Status find_makers(const Artifact& artifact);
  /// The same for the runs that may have read it.
  Status find_readers(const Artifact& artifact);

  /// Only grows, at the end; what is there stays where it is.
  const std::deque<RunRecord>& runs() const { return runs_; }
  /// Records that could not be read, and roots that were left out: a message each.
  const std::vector<std::string>& remarks() const { return remarks_; }

  static constexpr std::size_t kMaximumRoots = 16;
  static constexpr std::size_t kMaximumFolders = 256;

 private:
  struct Root {
    Location location;
    bool is_followed = false;       // found by the input of a run
    std::set<std::string> asked{};  // what its catalog was asked
    std::set<std::string> read{};   // ids of runs
  };

  Status begin(Root& root);
  Status find(CatalogIndex index, const Artifact& artifact);
  Status find_below(Root& root, CatalogIndex index, const Artifact& artifact);
  Status read(Root& root, const std::set<std::string>& ids);
  void keep(Root& root, RunList list);
  Status follow_inputs();
  Status remark_or_return(const Root& root, Status status);

  StoreRegistry& registry_;
  const CallOptions call_;
  std::deque<Root> roots_;
  std::deque<RunRecord> runs_;
  std::size_t followed_ = 0;           // runs whose inputs were followed
  std::set<std::string> looked_at_{};  // folders whose root was looked for
  std::vector<std::string> remarks_;
};

}  // namespace headrace

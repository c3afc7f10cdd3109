#pragma once

/// \file Records of runs in several tracking roots, read on demand.

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "headrace/store/registry.h"
#include "headrace/track/catalog.h"
#include "headrace/track/runs.h"

namespace headrace {

/// Holds the runs that were asked for, each once, and all runs of version 1. The roots are those that were
/// added, and the tracking roots of the inputs of all runs held here: at most `kMaximumRoots`, found from at
/// most `kMaximumFolders` folders of inputs. An error below a root that was found in this way becomes a
/// remark. Not thread-safe. `registry` must outlive it.
class RunPool {
 public:
  explicit RunPool(StoreRegistry& registry, CallOptions call = {})
      : registry_(registry), call_(std::move(call)) {}

  /// Reads the runs of version 1 below `root`, or all runs if there is no catalog. Does nothing if the root
  /// is known.
  Status add(const Location& root);
  /// Adds a record from another source, for example in tests.
  void add(RunRecord run) { runs_.push_back(std::move(run)); }

  /// Reads the runs that may have made the artifact, an object in it, or a folder around it. Then `runs`
  /// holds all of them.
  Status find_makers(const Artifact& artifact);
  /// The same, for runs that may have read the artifact.
  Status find_readers(const Artifact& artifact);

  /// The runs that were read. Only grows, at the end; references to its elements stay valid.
  const std::deque<RunRecord>& runs() const { return runs_; }
  /// One message for each record that could not be read, and for each root that was left out.
  const std::vector<std::string>& remarks() const { return remarks_; }

  static constexpr std::size_t kMaximumRoots = 16;
  static constexpr std::size_t kMaximumFolders = 256;

 private:
  struct Root {
    Location location;
    bool is_followed = false;       // it was found through an input of a run
    std::set<std::string> asked{};  // the queries that its catalog has answered
    std::set<std::string> read{};   // ids of the runs that were read
  };

  Status begin(Root& root);
  Status find(CatalogIndex index, const Artifact& artifact);
  Status find_below(Root& root, CatalogIndex index, const Artifact& artifact);
  Status read(Root& root, const std::set<std::string>& ids);
  void keep(Root& root, RunList list);
  Status follow_inputs();
  Status remark_folders();
  Status remark_or_return(const Root& root, Status status);

  StoreRegistry& registry_;
  const CallOptions call_;
  std::deque<Root> roots_;
  std::deque<RunRecord> runs_;
  std::size_t followed_ = 0;           // number of runs whose inputs were followed
  std::set<std::string> looked_at_{};  // folders whose tracking root was looked for
  bool has_too_many_folders_ = false;
  std::vector<std::string> remarks_;
};

}  // namespace headrace

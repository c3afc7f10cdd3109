#pragma once

/// \file What made an artifact, from what; what was made from it: answered from records of runs alone.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/registry.h"
#include "headrace/track/run_record.h"

namespace headrace {

struct LineageStep;

/// An artifact and the runs next to it: upstream those that made it, downstream those that used it.
struct LineageNode {
  Artifact artifact;
  std::vector<LineageStep> steps;
  /// It stands elsewhere in the tree already, with its steps.
  bool repeated = false;
};

struct LineageStep {
  RunRecord run;
  /// Upstream: what the run read. Downstream: what it made.
  std::vector<LineageNode> nodes;
};

struct Lineage {
  LineageNode upstream;
  LineageNode downstream;
};

/// Records of several tracking roots, to be asked about lineage.
class RunCatalog {
 public:
  /// Reads the runs below `root`, and then those below the tracking roots of every input they name, at most
  /// `kMaximumRoots` in all. What cannot be read becomes a remark. A root that was read already is passed
  /// over.
  Status add(StoreRegistry& registry, const Location& root, const CallOptions& call = {});
  /// For tests and other sources of records.
  void add(RunRecord run) { runs_.push_back(std::move(run)); }

  const std::vector<std::string>& remarks() const { return remarks_; }

  /// `url` is normalised, as Url::text() gives it. Artifacts match by URL: a run that wrote to a folder made
  /// what lies in it. Where a reader recorded the digest of a manifest, the run that published this digest is
  /// the one that counts; else the latest one that finished before the reader started.
  Lineage lineage(std::string_view url) const;

  static constexpr std::size_t kMaximumRoots = 16;

 private:
  std::vector<RunRecord> runs_;
  std::vector<std::string> roots_;
  std::vector<std::string> remarks_;
};

}  // namespace headrace

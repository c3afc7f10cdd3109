#pragma once

/// \file Lineage: the runs and inputs that made an artifact, and what was made from it, by run records alone.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/track/run_pool.h"
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

/// `url` is normalised, as Url::text() gives it. Artifacts match by URL: a run that wrote to a folder made
/// what lies in it. Where a reader recorded the digest of a manifest, the run that published this digest is
/// the one that counts; else the latest one that finished before the reader started, unless it recorded
/// another digest for the same URL. `digest`: of the version that is asked about; empty: the latest upstream,
/// any downstream.
/// \error of the stores
Result<Lineage> lineage_of(std::string_view url, RunPool& runs, std::string_view digest = "");

/// The runs of both trees, each once, in the order of their starts.
std::vector<RunRecord> runs_in(const Lineage& lineage);

}  // namespace headrace

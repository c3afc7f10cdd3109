#pragma once

/// \file Lineage: the runs and inputs that made an artifact, and the artifacts that were made from it. Uses
/// run records alone.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/track/run_pool.h"
#include "headrace/track/run_record.h"

namespace headrace {

struct LineageStep;

/// An artifact and the runs next to it: upstream the runs that made it, downstream the runs that used it.
struct LineageNode {
  Artifact artifact;
  std::vector<LineageStep> steps;
  /// It is elsewhere in the tree, with its steps; here it has none.
  bool repeated = false;
};

struct LineageStep {
  RunRecord run;
  /// Upstream: the inputs of the run. Downstream: its outputs.
  std::vector<LineageNode> nodes;
};

struct Lineage {
  LineageNode upstream;
  LineageNode downstream;
};

/// The lineage of an artifact. Artifacts match by URL: a run that wrote to a folder made everything in it. If
/// a reader recorded the digest of a manifest, the run that published this digest is its maker. Otherwise the
/// maker is the latest run that started before the reader did, unless that run recorded another digest for
/// the same URL; finished runs take precedence over others. A tree is at most 100 runs deep.
/// \param url     normalised, as Url::text() gives it
/// \param digest  of the version in question; empty: the latest version upstream, any version downstream
/// \error of the stores
Result<Lineage> lineage_of(std::string_view url, RunPool& runs, std::string_view digest = "");

/// The runs of both trees, each once, in the order in which they started.
std::vector<RunRecord> runs_in(const Lineage& lineage);

}  // namespace headrace

#include "headrace/track/lineage.h"

#include <algorithm>
#include <map>
#include <set>

#include "headrace/base/text.h"
#include "headrace/track/recorder.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

constexpr std::size_t kMaximumRunsPerRoot = 100'000;
constexpr int kMaximumDepth = 100;

bool lies_below(std::string_view url, std::string_view folder) {
  return url.size() > folder.size() && url.starts_with(folder) &&
         (url[folder.size()] == '/' || folder.ends_with('/'));
}
bool covers(std::string_view folder, std::string_view url) {
  return folder == url || lies_below(url, folder);
}

using Runs = std::vector<const RunRecord*>;

bool started_before(const RunRecord* a, const RunRecord* b) {
  return std::tie(a->start.started, a->id) < std::tie(b->start.started, b->id);
}

bool made(const RunRecord& run, std::string_view url) {
  const std::vector<Artifact> outputs = run.outputs();
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const Artifact& output) { return covers(output.url, url); });
}

bool published(const RunRecord& run, const std::string& digest) {
  const std::vector<Artifact> outputs = run.outputs();
  return !digest.empty() && std::any_of(outputs.begin(), outputs.end(),
                                        [&](const Artifact& output) { return output.digest == digest; });
}

// Of several runs that made the same thing, the one whose result stood in the end.
const RunRecord* standing(const Runs& runs) {
  const auto better = [](const RunRecord* a, const RunRecord* b) {
    const bool a_finished = a->status() == RunStatus::kFinished;
    const bool b_finished = b->status() == RunStatus::kFinished;
    return a_finished != b_finished ? b_finished : started_before(a, b);
  };
  return *std::max_element(runs.begin(), runs.end(), better);
}

// Builds one of the two trees; remembers what stands in it.
class TreeBuilder {
 public:
  explicit TreeBuilder(const std::vector<RunRecord>& runs) : runs_(runs) {}

  // `reader`: the run through which we came; null at the root.
  LineageNode upstream(Artifact artifact, const RunRecord* reader, int depth) {
    LineageNode node = {.artifact = std::move(artifact)};
    if (!enter(node, depth)) return node;
    for (const RunRecord* run : makers(node.artifact, reader)) {
      LineageStep step = {.run = *run};
      for (Artifact& input : run->inputs()) step.nodes.push_back(upstream(std::move(input), run, depth + 1));
      node.steps.push_back(std::move(step));
    }
    return node;
  }

  LineageNode downstream(Artifact artifact, int depth) {
    LineageNode node = {.artifact = std::move(artifact)};
    if (!enter(node, depth)) return node;
    for (const RunRecord* run : readers(node.artifact)) {
      LineageStep step = {.run = *run};
      for (Artifact& output : run->outputs()) step.nodes.push_back(downstream(std::move(output), depth + 1));
      node.steps.push_back(std::move(step));
    }
    return node;
  }

 private:
  bool enter(LineageNode& node, int depth) {
    node.repeated = !seen_.insert(concat(node.artifact.url, " ", node.artifact.digest)).second;
    return !node.repeated && depth < kMaximumDepth;
  }

  Runs makers(const Artifact& artifact, const RunRecord* reader) const {
    Runs by_digest;
    Runs around;
    std::map<std::string_view, Runs> below;  // by output
    for (const RunRecord& run : runs_) {
      if (&run == reader || (reader != nullptr && run.start.started > reader->start.started)) continue;
      if (published(run, artifact.digest)) by_digest.push_back(&run);
      if (made(run, artifact.url)) around.push_back(&run);
      if (lies_below(run.start.output, artifact.url)) below[run.start.output].push_back(&run);
    }
    if (!by_digest.empty()) return {standing(by_digest)};
    if (!around.empty()) return {standing(around)};
    Runs out;
    for (const auto& [output, runs] : below) out.push_back(standing(runs));
    std::sort(out.begin(), out.end(), started_before);
    return out;
  }

  Runs readers(const Artifact& artifact) const {
    Runs out;
    for (const RunRecord& run : runs_) {
      const std::vector<Artifact> inputs = run.inputs();
      const bool reads = std::any_of(inputs.begin(), inputs.end(), [&](const Artifact& input) {
        const bool another_version = input.url == artifact.url && !input.digest.empty() &&
                                     !artifact.digest.empty() && input.digest != artifact.digest;
        return !another_version && (covers(artifact.url, input.url) || covers(input.url, artifact.url));
      });
      if (reads && !made(run, artifact.url)) out.push_back(&run);
    }
    std::sort(out.begin(), out.end(), started_before);
    return out;
  }

  const std::vector<RunRecord>& runs_;
  std::set<std::string> seen_;
};

}  // namespace

Status RunCatalog::add(StoreRegistry& registry, const Location& root, const CallOptions& call) {
  std::vector<Location> pending = {root};
  std::set<std::string> looked_at;  // folders whose root was looked for
  while (!pending.empty()) {
    const Location next = pending.back();
    pending.pop_back();
    const std::string name = next.url.text();
    if (std::find(roots_.begin(), roots_.end(), name) != roots_.end()) continue;
    if (roots_.size() >= kMaximumRoots) {
      remarks_.push_back(
          concat("the runs below ", name, " were left out: ", kMaximumRoots, " roots were read"));
      continue;
    }
    roots_.push_back(name);
    auto found = list_runs(next, kMaximumRunsPerRoot, call);
    if (!found && (next.url == root.url || call.stop.stop_requested())) return std::move(found).error();
    if (!found) {
      remarks_.push_back(concat("the runs below ", name, " cannot be read: ", found.error().message));
      continue;
    }
    remarks_.insert(remarks_.end(), found->damaged.begin(), found->damaged.end());
    for (RunRecord& run : found->runs) {
      for (const Artifact& input : run.inputs()) {
        const auto location = registry.open(input.url);
        if (!location || !looked_at.insert(parent_key(input.url)).second) continue;
        auto input_root = tracking_root(*location, call);
        if (input_root) pending.push_back(std::move(*input_root));
      }
      runs_.push_back(std::move(run));
    }
  }
  return {};
}

Lineage RunCatalog::lineage(std::string_view url) const {
  Artifact artifact = {.url = std::string(url)};
  const RunRecord* latest = nullptr;
  for (const RunRecord& run : runs_) {
    for (const std::vector<Artifact>& mentioned : {run.inputs(), run.outputs()}) {
      for (const Artifact& other : mentioned) {
        if (other.url == url && (latest == nullptr || started_before(latest, &run))) {
          artifact.kind = other.kind;
          latest = &run;
        }
      }
    }
  }
  return {TreeBuilder(runs_).upstream(artifact, nullptr, 0), TreeBuilder(runs_).downstream(artifact, 0)};
}

}  // namespace headrace

#include "headrace/track/lineage.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr int kMaximumDepth = 100;

bool lies_below(std::string_view url, std::string_view folder) {
  return url.size() > folder.size() && url.starts_with(folder) &&
         (url[folder.size()] == '/' || folder.ends_with('/'));
}
bool covers(std::string_view folder, std::string_view url) {
  return folder == url || lies_below(url, folder);
}

// Whether a run recorded another version of the artifact than `asked`.
bool is_another_version(const Artifact& recorded, const Artifact& asked) {
  return recorded.url == asked.url && !recorded.digest.empty() && !asked.digest.empty() &&
         recorded.digest != asked.digest;
}

// A run and its artifacts, collected once because the trees look at them repeatedly.
struct Entry {
  explicit Entry(const RunRecord& record)
      : run(&record), inputs(record.inputs()), outputs(record.outputs()) {}

  // Whether the run made the artifact or a folder around it, in the version that is asked about. The version
  // is not compared for a run's own output: the record names only the last version, and the run may have
  // published earlier ones.
  bool made(const Artifact& artifact) const {
    if (outputs.empty()) return false;
    return covers(run->start.output, artifact.url) ||
           std::any_of(outputs.begin(), outputs.end(), [&](const Artifact& output) {
             return covers(output.url, artifact.url) && !is_another_version(output, artifact);
           });
  }
  bool published(const std::string& digest) const {
    return !digest.empty() && std::any_of(outputs.begin(), outputs.end(),
                                          [&](const Artifact& output) { return output.digest == digest; });
  }
  // Whether the run read the artifact, a part of it or a folder around it, in the version that is asked
  // about.
  bool read(const Artifact& artifact) const {
    return std::any_of(inputs.begin(), inputs.end(), [&](const Artifact& input) {
      return !is_another_version(input, artifact) &&
             (covers(artifact.url, input.url) || covers(input.url, artifact.url));
    });
  }

  const RunRecord* run;
  std::vector<Artifact> inputs;
  std::vector<Artifact> outputs;
};
using Entries = std::vector<const Entry*>;

// The start of the latest attempt, whose inputs are shown: a job may be restarted under the same id.
const std::string& latest_start(const RunRecord& run) {
  return run.parts.empty() ? run.start.started : run.parts.front().start.started;
}

bool started_before(const Entry* a, const Entry* b) {
  return std::tie(a->run->start.started, a->run->id) < std::tie(b->run->start.started, b->run->id);
}

// Whether both runs recorded the same manifest: then only the earlier run wrote it.
bool published_the_same(const Entry* a, const Entry* b) {
  return std::ranges::any_of(a->outputs, [&](const Artifact& output) { return b->published(output.digest); });
}

// The run that made what is there now, if several runs wrote to the same place. If several runs recorded that
// same result, the first of them.
const Entry* current_maker(const Entries& entries) {
  const auto better = [](const Entry* a, const Entry* b) {
    const bool a_finished = a->run->status() == RunStatus::kFinished;
    const bool b_finished = b->run->status() == RunStatus::kFinished;
    return a_finished != b_finished ? b_finished : started_before(a, b);
  };
  const Entry* last = *std::max_element(entries.begin(), entries.end(), better);
  const Entry* first = last;
  for (const Entry* entry : entries) {
    if (published_the_same(entry, last) && started_before(entry, first)) first = entry;
  }
  return first;
}

// All runs that were found so far.
class EntryList {
 public:
  explicit EntryList(RunPool& runs) : runs_(runs) {}

  Status find_makers(const Artifact& artifact) { return updated(runs_.find_makers(artifact)); }
  Status find_readers(const Artifact& artifact) { return updated(runs_.find_readers(artifact)); }
  const std::deque<Entry>& entries() const { return entries_; }

 private:
  Status updated(Status status) {
    while (entries_.size() < runs_.runs().size()) entries_.emplace_back(runs_.runs()[entries_.size()]);
    return status;
  }

  RunPool& runs_;
  std::deque<Entry> entries_;
};

// Builds one of the two trees, and remembers which artifacts it has entered.
class TreeBuilder {
 public:
  explicit TreeBuilder(EntryList& list) : list_(list) {}

  // `reader`: the run whose input this artifact is; null at the root.
  Result<LineageNode> upstream(const Artifact& artifact, const Entry* reader, int depth) {
    LineageNode node = {.artifact = artifact};
    if (!enter(node, depth)) return node;
    HEADRACE_CHECK(list_.find_makers(artifact));
    for (const Entry* maker : makers(artifact, reader)) {
      LineageStep step = {.run = *maker->run};
      for (const Artifact& input : maker->inputs) {
        HEADRACE_TRY(LineageNode inner, upstream(input, maker, depth + 1));
        step.nodes.push_back(std::move(inner));
      }
      node.steps.push_back(std::move(step));
    }
    return node;
  }

  Result<LineageNode> downstream(const Artifact& artifact, int depth) {
    LineageNode node = {.artifact = artifact};
    if (!enter(node, depth)) return node;
    HEADRACE_CHECK(list_.find_readers(artifact));
    for (const Entry* reader : readers(artifact)) {
      LineageStep step = {.run = *reader->run};
      for (const Artifact& output : reader->outputs) {
        HEADRACE_TRY(LineageNode inner, downstream(output, depth + 1));
        step.nodes.push_back(std::move(inner));
      }
      node.steps.push_back(std::move(step));
    }
    return node;
  }

 private:
  bool enter(LineageNode& node, int depth) {
    node.repeated = !seen_.insert(concat(node.artifact.url, " ", node.artifact.digest)).second;
    return !node.repeated && depth < kMaximumDepth;
  }

  Entries makers(const Artifact& artifact, const Entry* reader) const {
    Entries by_digest;
    Entries around;
    std::map<std::string_view, Entries> below;  // by output
    for (const Entry& entry : list_.entries()) {
      const RunStart& start = entry.run->start;
      if (&entry == reader) continue;
      if (entry.published(artifact.digest)) by_digest.push_back(&entry);
      if (reader != nullptr && start.started > latest_start(*reader->run)) continue;
      if (entry.made(artifact)) around.push_back(&entry);
      if (!entry.outputs.empty() && lies_below(start.output, artifact.url))
        below[start.output].push_back(&entry);
    }
    if (!by_digest.empty()) return {current_maker(by_digest)};
    if (!around.empty()) return {current_maker(around)};
    Entries out;
    for (const auto& [output, entries] : below) out.push_back(current_maker(entries));
    std::sort(out.begin(), out.end(), started_before);
    return out;
  }

  Entries readers(const Artifact& artifact) const {
    Entries out;
    for (const Entry& entry : list_.entries()) {
      if (entry.read(artifact) && !entry.made(artifact)) out.push_back(&entry);
    }
    std::sort(out.begin(), out.end(), started_before);
    return out;
  }

  EntryList& list_;
  std::set<std::string> seen_;
};

void add_runs_of(const LineageNode& node, std::map<std::pair<std::string, std::string>, RunRecord>& runs) {
  for (const LineageStep& step : node.steps) {
    runs.try_emplace({step.run.start.started, step.run.id}, step.run);
    for (const LineageNode& inner : step.nodes) add_runs_of(inner, runs);
  }
}

}  // namespace

std::vector<RunRecord> runs_in(const Lineage& lineage) {
  std::map<std::pair<std::string, std::string>, RunRecord> found;  // by start and id
  add_runs_of(lineage.upstream, found);
  add_runs_of(lineage.downstream, found);
  std::vector<RunRecord> runs;
  for (auto& [key, run] : found) runs.push_back(std::move(run));
  return runs;
}

Result<Lineage> lineage_of(std::string_view url, RunPool& runs, std::string_view digest) {
  EntryList list(runs);
  Artifact artifact = {.url = std::string(url), .digest = std::string(digest)};
  HEADRACE_CHECK(list.find_makers(artifact));
  HEADRACE_CHECK(list.find_readers(artifact));
  const Entry* latest = nullptr;  // the latest run that mentions the artifact, and so knows its kind
  for (const Entry& entry : list.entries()) {
    for (const std::vector<Artifact>* mentioned : {&entry.inputs, &entry.outputs}) {
      for (const Artifact& other : *mentioned) {
        if (other.url != url || (latest != nullptr && started_before(&entry, latest))) continue;
        artifact.kind = other.kind;
        if (other.digest == digest) artifact.version = other.version;
        latest = &entry;
      }
    }
  }
  // A run may lead to another tracking root, which may hold runs for artifacts that are already in the trees.
  // So the trees are rebuilt until no further run is found. No root is asked the same question twice.
  Lineage lineage;
  std::size_t known = 0;
  do {
    known = list.entries().size();
    HEADRACE_TRY(lineage.upstream, TreeBuilder(list).upstream(artifact, nullptr, 0));
    HEADRACE_TRY(lineage.downstream, TreeBuilder(list).downstream(artifact, 0));
  } while (list.entries().size() > known);
  return lineage;
}

}  // namespace headrace

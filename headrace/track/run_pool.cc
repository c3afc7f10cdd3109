#include "headrace/track/run_pool.h"

#include <algorithm>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr std::size_t kMaximumRunsPerRoot = 100'000;  // runs that are missing in the catalog

}  // namespace

// An error in a root that the user did not name becomes a remark.
Status RunPool::remark_or_return(const Root& root, Status status) {
  if (status || !root.is_followed || call_.stop.stop_requested()) return status;
  remarks_.push_back(
      concat("the runs below ", root.location.url.text(), " cannot be read: ", status.error().message));
  return {};
}

void RunPool::keep(Root& root, RunList list) {
  remarks_.insert(remarks_.end(), list.damaged.begin(), list.damaged.end());
  for (RunRecord& run : list.runs) {
    root.read.insert(run.id);
    runs_.push_back(std::move(run));
  }
}

Status RunPool::begin(Root& root) {
  HEADRACE_TRY(const bool is_catalogued, has_catalog(root.location, call_));
  HEADRACE_TRY(RunList list, is_catalogued ? list_version_1_runs(root.location, kMaximumRunsPerRoot, call_)
                                           : list_runs(root.location, kMaximumRunsPerRoot, call_));
  const bool is_lost = !is_catalogued && std::ranges::any_of(list.runs, [](const RunRecord& run) {
    return !run.parts.front().name.empty();
  });
  const std::string name = root.location.url.text();
  if (is_lost)
    remarks_.push_back(concat("the catalog of the runs below ", name,
                              " is missing, so all of them were read; headrace runs repair ", name,
                              " rebuilds it"));
  keep(root, std::move(list));
  return {};
}

Status RunPool::add(const Location& root) {
  const auto is_there = [&](const Root& other) { return other.location.url == root.url; };
  if (std::ranges::any_of(roots_, is_there)) return {};
  HEADRACE_CHECK(begin(roots_.emplace_back(Root{root})));
  return follow_inputs();
}

Status RunPool::follow_inputs() {
  for (; followed_ < runs_.size(); ++followed_) {
    for (const Artifact& input : runs_[followed_].inputs()) {
      if (looked_at_.contains(parent_key(input.url))) continue;
      if (looked_at_.size() == kMaximumFolders) return remark_folders();
      looked_at_.insert(parent_key(input.url));
      const auto location = registry_.open(input.url);
      if (!location) continue;
      const auto found = tracking_root(*location, call_);
      if (!found) continue;
      const auto is_there = [&](const Root& other) { return other.location.url == found->url; };
      if (std::ranges::any_of(roots_, is_there)) continue;
      if (roots_.size() >= kMaximumRoots) {
        remarks_.push_back(concat("the runs below ", found->url.text(), " were left out: at most ",
                                  kMaximumRoots, " tracking roots are read"));
        continue;
      }
      Root& root = roots_.emplace_back(Root{*found, true});
      HEADRACE_CHECK(remark_or_return(root, begin(root)));
    }
  }
  return {};
}

Status RunPool::remark_folders() {
  if (!std::exchange(has_too_many_folders_, true))
    remarks_.push_back(
        concat("inputs lie in more than ", kMaximumFolders,
               " folders: runs near the other folders were left out; name those with --track"));
  return {};
}

Status RunPool::read(Root& root, const std::set<std::string>& ids) {
  std::vector<std::string> missing;
  std::ranges::set_difference(ids, root.read, std::back_inserter(missing));
  if (missing.empty()) return {};
  HEADRACE_TRY(RunList list, read_runs(root.location, missing, call_));
  root.read.insert(missing.begin(), missing.end());  // also ids that an entry names, but that do not exist
  keep(root, std::move(list));
  return {};
}

Status RunPool::find_below(Root& root, CatalogIndex index, const Artifact& artifact) {
  const bool is_output = index == CatalogIndex::kOutput;
  std::set<std::string> ids;
  if (root.asked.insert(concat(is_output ? "output " : "input ", artifact.url)).second) {
    HEADRACE_TRY(ids, runs_near(root.location, index, artifact.url, call_));
  }
  if (is_output && !artifact.digest.empty() && root.asked.insert(concat("digest ", artifact.digest)).second) {
    HEADRACE_TRY(std::set<std::string> publishers,
                 runs_that_published(root.location, artifact.digest, call_));
    ids.merge(publishers);
  }
  return read(root, ids);
}

Status RunPool::find(CatalogIndex index, const Artifact& artifact) {
  for (std::size_t i = 0; i < roots_.size(); ++i) {  // the loop may add roots
    HEADRACE_CHECK(remark_or_return(roots_[i], find_below(roots_[i], index, artifact)));
    HEADRACE_CHECK(follow_inputs());
  }
  return {};
}

Status RunPool::find_makers(const Artifact& artifact) { return find(CatalogIndex::kOutput, artifact); }

Status RunPool::find_readers(const Artifact& artifact) { return find(CatalogIndex::kInput, artifact); }

}  // namespace headrace

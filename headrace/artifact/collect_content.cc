#include "headrace/artifact/collect_content.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "headrace/artifact/artifact.h"
#include "headrace/artifact/content.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

// The digests that versions name. Reads each version and each list of entries once.
class NamedContents {
 public:
  NamedContents(const Location& root, const CallOptions& call) : root_(root), call_(call) {}

  // Reads the versions that were created since the last call.
  Status refresh() {
    HEADRACE_TRY(const std::vector<std::string> names, list_artifacts(root_, call_));
    for (const std::string& name : names) {
      HEADRACE_TRY(const std::vector<std::uint64_t> numbers, artifact_numbers(root_, name, call_));
      for (const std::uint64_t number : numbers) {
        if (read_.insert({name, number}).second) HEADRACE_CHECK(read(name, number));
      }
    }
    return {};
  }
  bool has(const std::string& digest) const { return digests_.contains(digest); }

 private:
  Status read(const std::string& name, std::uint64_t number) {
    HEADRACE_TRY(const ArtifactVersion version, read_artifact_version(root_, name, number, call_));
    digests_.insert(version.entries);
    if (!read_lists_.insert(version.entries).second) return {};
    HEADRACE_TRY(const std::vector<ArtifactEntry> entries, read_entries(root_, version, call_));
    for (const ArtifactEntry& entry : entries) {
      if (!entry.is_reference()) digests_.insert(entry.sha256);
    }
    return {};
  }

  const Location& root_;
  const CallOptions& call_;
  std::set<std::pair<std::string, std::uint64_t>> read_;
  // Lists that were read. digests_ may also name a list that was not read, as the file of another artifact.
  std::set<std::string> read_lists_;
  std::set<std::string> digests_;
};

struct Candidate {
  ContentCopy copy;
  ObjectInfo object;
};

Status give_up(const Location& root, const ContentCopy& copy, const CallOptions& call) {
  const Location mark = given_up_mark(root, copy.sha256, copy.number);
  const auto written = mark.store->write(mark.key, {}, {.only_if_absent = true, .call = call});
  if (!written && written.error().code != Code::kAlreadyExists) return written.error();
  return {};
}

}  // namespace

Result<CollectedContent> collect_content(const Location& root, bool is_dry_run,
                                         const std::function<bool(const ObjectInfo&)>& is_old,
                                         const std::function<void(const ObjectInfo&)>& visit,
                                         const CallOptions& call) {
  std::vector<Candidate> copies;
  std::vector<std::string> young;  // digests of copies that are too young
  HEADRACE_CHECK(root.store->list(root.at(kContentPrefix).key, {.call = call}, [&](const ObjectInfo& object) {
    auto copy = parse_content_key(root, object.key);
    if (!copy || copy->is_given_up) return true;
    if (is_old(object)) {
      copies.push_back({*std::move(copy), object});
    } else {
      young.push_back(std::move(copy->sha256));
    }
    return true;
  }));
  CollectedContent collected;
  if (copies.empty()) return collected;
  NamedContents named(root, call);
  HEADRACE_CHECK(named.refresh());
  std::erase_if(copies, [&](const Candidate& each) { return named.has(each.copy.sha256); });
  collected.too_young = static_cast<std::uint64_t>(
      std::ranges::count_if(young, [&](const std::string& digest) { return !named.has(digest); }));
  if (!is_dry_run) {
    HEADRACE_CHECK(parallel_for(kObjectsAtOnce, copies.size(),
                                [&](std::size_t i) { return give_up(root, copies[i].copy, call); }));
    HEADRACE_CHECK(named.refresh());
    std::erase_if(copies, [&](const Candidate& each) { return named.has(each.copy.sha256); });
  }
  std::vector<std::string> keys;
  for (const Candidate& each : copies) {
    visit(each.object);
    keys.push_back(each.object.key);
    collected.removed_bytes += each.object.size_bytes;
  }
  collected.removed = keys.size();
  if (!is_dry_run && !keys.empty()) HEADRACE_CHECK(root.store->remove_many(keys, call));
  return collected;
}

}  // namespace headrace

#include "headrace/artifact/verify_artifact.h"

#include <algorithm>
#include <map>
#include <optional>

#include "headrace/artifact/artifact.h"
#include "headrace/artifact/content.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

constexpr std::size_t kMostUnneeded = 1000;  // objects that a listing passes over between two wanted ones

// A wanted object, and the entries that refer to it: several paths may refer to one object.
struct WantedObject {
  Location location{};
  std::vector<const ArtifactEntry*> entries{};
};
using WantedObjects = std::map<std::string, WantedObject>;  // of one store, by key

using Found = std::function<Status(const WantedObject&, const std::optional<ObjectInfo>&)>;

Result<std::optional<ObjectInfo>> stat_if_there(const WantedObject& wanted, const CallOptions& call) {
  auto object = wanted.location.store->stat(wanted.location.key, call);
  if (object) return std::optional(*std::move(object));
  if (object.error().code == Code::kNotFound) return std::optional<ObjectInfo>();
  return std::move(object).error();
}

// The folder that holds all keys from `first` to `last`, as a prefix.
std::string folder_between(std::string_view first, std::string_view last) {
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(first, last).in1 - first.begin());
  const std::size_t slash = first.substr(0, same).rfind('/');
  return slash == std::string_view::npos ? "" : std::string(first.substr(0, slash + 1));
}

// Reports for each wanted object whether it exists. A listing passes over only a few objects that are not
// wanted; after that, the next wanted object is looked up by itself.
Status find_all(const WantedObjects& wanted, const CallOptions& call, const Found& found) {
  auto next = wanted.begin();
  while (next != wanted.end()) {
    HEADRACE_TRY(const auto object, stat_if_there(next->second, call));
    HEADRACE_CHECK(found(next->second, object));
    const std::string& after = next->first;
    if (++next == wanted.end()) break;
    const std::string prefix = folder_between(next->first, wanted.rbegin()->first);
    Status outcome;
    std::size_t unneeded = 0;
    const auto visit = [&](const ObjectInfo& listed) {
      while (outcome && next != wanted.end() && next->first < listed.key)
        outcome = found((next++)->second, std::nullopt);
      if (!outcome || next == wanted.end()) return false;
      if (next->first != listed.key) return ++unneeded < kMostUnneeded;
      unneeded = 0;
      outcome = found((next++)->second, listed);
      return outcome && next != wanted.end();
    };
    HEADRACE_CHECK(next->second.location.store->list(
        prefix, {.after = after.starts_with(prefix) ? after : "", .call = call}, visit));
    HEADRACE_CHECK(outcome);
    if (unneeded == kMostUnneeded) continue;
    while (next != wanted.end()) HEADRACE_CHECK(found((next++)->second, std::nullopt));
  }
  return {};
}

// Says what has changed; empty if nothing has.
std::string change_of(const ArtifactEntry& entry, const ObjectInfo& object) {
  if (object.size_bytes != entry.size_bytes)
    return concat("has changed: it had ", entry.size_bytes, " bytes, and has ", object.size_bytes);
  if (entry.version.empty() || object.version.token == entry.version) return "";
  if (!entry.crc32c || !object.crc32c)
    return concat("has changed: it had the version ", entry.version, ", and has ", object.version.token,
                  " with the same size");
  if (*entry.crc32c == *object.crc32c) return "";  // the same bytes were written again
  return concat("has changed: its bytes had the CRC32C ", hex32(*entry.crc32c), ", and have ",
                hex32(*object.crc32c));
}

// Says what is wrong with a content; empty if nothing is.
Result<std::string> fault_of(const Location& root, const ArtifactEntry& entry, const CallOptions& call,
                             const ArtifactVerifier::Advance& advance) {
  const auto begin = [](const ObjectInfo&) -> Status { return {}; };
  const auto add = [&](BytesView piece) -> Status {
    if (advance) advance(piece.size());
    return {};
  };
  const Status read = read_content(root, entry.sha256, entry.size_bytes, call, {.begin = begin, .add = add});
  if (read) return std::string();
  const Error& error = read.error();
  if (error.code == Code::kNotFound || error.code == Code::kDataLoss) return error.message;
  return error;
}

bool is_about_one(Code code) {
  return code == Code::kNotFound || code == Code::kDataLoss || code == Code::kUnimplemented ||
         code == Code::kInvalidArgument;
}

}  // namespace

void ArtifactVerifier::report(std::string_view path, std::string url, std::string problem) {
  bad_.push_back({artifact_, std::string(path), std::move(url), std::move(problem)});
}

Status ArtifactVerifier::report_or_return(std::string_view path, std::string url, const Error& error) {
  if (!is_about_one(error.code)) return error;
  report(path, std::move(url), error.message);
  return {};
}

Status ArtifactVerifier::verify(std::string_view name, std::uint64_t number) {
  artifact_ = concat(name, ":v", number);
  ++versions_;
  const std::string url = artifact_folder(root_, name).url.text();
  const auto version = read_artifact_version(root_, name, number, call_);
  if (!version) return report_or_return("", url, version.error());
  const auto entries = read_entries(root_, *version, call_);
  if (!entries) return report_or_return("", url, entries.error());
  entries_ += entries->size();
  if (checks_references_) HEADRACE_CHECK(verify_references(*entries));
  return verify_contents(*entries);
}

Status ArtifactVerifier::verify_all(std::string_view name) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers, artifact_numbers(root_, name, call_));
  for (const std::uint64_t number : numbers) HEADRACE_CHECK(verify(name, number));
  return verify_aliases(name);
}

Status ArtifactVerifier::verify_aliases(std::string_view name) {
  artifact_ = name;
  const std::string url = artifact_folder(root_, name).url.text();
  const auto aliases = artifact_aliases(root_, name, call_);
  if (!aliases) return report_or_return("", url, aliases.error());
  HEADRACE_TRY(const auto numbers, artifact_numbers(root_, name, call_));
  for (const auto& [alias, number] : *aliases) {
    if (!std::ranges::binary_search(numbers, number))
      report("", url, concat("the alias ", alias, " names version ", number, ", which is missing"));
  }
  return {};
}

Status ArtifactVerifier::verify_references(const std::vector<ArtifactEntry>& entries) {
  std::map<const Store*, WantedObjects> stores;
  for (const ArtifactEntry& entry : entries) {
    if (!entry.is_reference()) continue;
    auto location = registry_.open(entry.url);
    if (!location) {
      HEADRACE_CHECK(report_or_return(entry.path, entry.url, location.error()));
      continue;
    }
    WantedObject& wanted = stores[location->store.get()][location->key];
    wanted.entries.push_back(&entry);
    wanted.location = *std::move(location);
  }
  const Found found = [&](const WantedObject& wanted, const std::optional<ObjectInfo>& listed) -> Status {
    std::optional<ObjectInfo> object = listed;
    const bool lists_late = !object && !wanted.location.store->capabilities().strong_list;
    const bool may_be_same =
        object && !object->crc32c && std::ranges::any_of(wanted.entries, [&](const ArtifactEntry* entry) {
          return entry->crc32c && !change_of(*entry, *object).empty();
        });
    if (lists_late || may_be_same) {
      HEADRACE_TRY(object, stat_if_there(wanted, call_));
    }
    for (const ArtifactEntry* entry : wanted.entries) {
      std::string problem = object ? change_of(*entry, *object) : "is gone";
      if (!problem.empty()) report(entry->path, entry->url, std::move(problem));
    }
    return {};
  };
  for (const auto& [store, wanted] : stores) HEADRACE_CHECK(find_all(wanted, call_, found));
  return {};
}

Status ArtifactVerifier::verify_contents(const std::vector<ArtifactEntry>& entries) {
  std::vector<const ArtifactEntry*> kept;
  for (const ArtifactEntry& entry : entries) {
    if (!entry.is_reference() && !verified_.contains(entry.sha256)) kept.push_back(&entry);
  }
  std::vector<std::string> faults(kept.size());
  HEADRACE_CHECK(parallel_for(kObjectsAtOnce, kept.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(faults[i], fault_of(root_, *kept[i], call_, advance_));
    return {};
  }));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (faults[i].empty()) {
      verified_.insert(kept[i]->sha256);
    } else {
      report(kept[i]->path, content_copy(root_, kept[i]->sha256, 1).url.text(), std::move(faults[i]));
    }
  }
  return {};
}

}  // namespace headrace

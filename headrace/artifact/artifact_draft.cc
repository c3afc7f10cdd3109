#include "headrace/artifact/artifact_draft.h"

#include <algorithm>
#include <utility>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/record/manifest.h"
#include "headrace/store/numbered.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/recorder.h"
#include "headrace/track/redact.h"
#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

constexpr std::size_t kMostSources = 64;
constexpr std::size_t kMostTypeBytes = 128;

// Whether an object belongs to the records of runs: they grow while the folder that holds them stays the
// same.
bool is_record(std::string_view name) {
  for (const std::string_view folder :
       {kRunsPrefix, kMediaPrefix, kConsolePrefix, std::string_view("_headrace/metrics/"),
        std::string_view("_headrace/artifacts/"), std::string_view("_headrace/mlflow/")}) {
    if (name.starts_with(folder) || name.find(concat("/", folder)) != std::string_view::npos) return true;
  }
  return false;
}

Result<std::string> url_of(const Location& object) {
  Url url = object.url;
  url.query.clear();
  std::string text = url.text();
  if (redact_secrets(text) == text) return text;
  return Error{Code::kInvalidArgument,
               concat("the URL ", redact_secrets(text),
                      " seems to hold a secret, and would be kept with the artifact: give the object "
                      "another name")};
}

// The member that redaction would change, such as ".tokenizer.pad_token"; empty if there is none.
std::string secret_member(const Json& value, const Json& redacted) {
  if (value == redacted) return "";
  if (value.is_object()) {
    for (const auto& [name, inner] : value.members()) {
      if (inner == redacted.at(name)) continue;
      return concat(".", redact_secrets(printable_line(name, 64)), secret_member(inner, redacted.at(name)));
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.values().size(); ++i) {
      if (value.at(i) == redacted.at(i)) continue;
      return concat("[", i, "]", secret_member(value.at(i), redacted.at(i)));
    }
  }
  return "";
}

// Refuses metadata that redaction would change: users and programs must get back exactly what was given.
Status check_holds_no_secret(const Json& metadata) {
  Json redacted = metadata;
  redact_texts(redacted);
  const std::string member = secret_member(metadata, redacted);
  if (member.empty()) return {};
  return Error{Code::kInvalidArgument,
               concat("metadata", member,
                      " seems to hold a secret by its name or its text, and would be kept "
                      "with the artifact: leave it out, or give it another name")};
}

bool holds(std::string_view folder, std::string_view url) {
  return url == folder || (url.starts_with(folder) && url[folder.size()] == '/');
}

// "s3://b/a/b" and "s3://b/a/c" → "s3://b/a". REQUIRES: both lie in one store
std::string common_folder(std::string folder, std::string_view url) {
  while (!holds(folder, url)) folder = parent_key(folder);
  return folder;
}

// "s3://b" of "s3://b/a".
std::string store_of(const std::string& url) { return url.substr(0, url.find('/', url.find("://") + 3)); }

}  // namespace

Result<ArtifactDraft> ArtifactDraft::make(std::string_view name, std::string_view type,
                                          std::string_view description, std::string_view metadata_json) {
  if (const Status named = check_run_name(name); !named)
    return Error{Code::kInvalidArgument,
                 concat("\"", printable_line(name, 64),
                        "\" cannot name an artifact: a name has 1 to 64 letters, digits, '.', '_' and '-', "
                        "and begins with a letter or a digit")};
  if (type.empty() || type.size() > kMostTypeBytes || !is_valid_utf8(type))
    return Error{Code::kInvalidArgument, concat("the type of ", name, " must have 1 to ", kMostTypeBytes,
                                                " bytes, such as dataset or model")};
  auto metadata = parse_json(metadata_json);
  if (!metadata || !metadata->is_object())
    return Error{Code::kInvalidArgument, concat("the metadata of ", name, " are not a JSON object")};
  HEADRACE_CHECK(check_holds_no_secret(*metadata));
  ArtifactDraft draft;
  draft.head_.name = name;
  draft.head_.type = type;
  draft.head_.description = replace_invalid_utf8(description).text;
  draft.head_.metadata = *std::move(metadata);
  return draft;
}

std::string ArtifactDraft::beside(const Additions& additions, const std::string& path) {
  for (std::string above = path; !above.empty(); above = parent_key(above)) {
    if (additions.contains(above)) return above;
  }
  const auto below = additions.lower_bound(path + "/");
  return below != additions.end() && below->first.starts_with(path + "/") ? below->first : "";
}

Status ArtifactDraft::add(std::string path, Addition addition, Additions& added) const {
  HEADRACE_CHECK(check_key(path));
  for (const Additions* additions : {&additions_, &std::as_const(added)}) {
    const std::string taken = beside(*additions, path);
    if (taken.empty()) continue;
    return Error{Code::kInvalidArgument,
                 concat("the artifact ", head_.name, " already has ", taken, ", so it cannot have ", path,
                        ": give one of them another path")};
  }
  if (additions_.size() + added.size() >= kMostArtifactEntries)
    return Error{Code::kResourceExhausted, concat("an artifact has at most ", kMostArtifactEntries,
                                                  " entries: split it into several artifacts")};
  addition.entry.path = path;
  added.emplace(std::move(path), std::move(addition));
  return {};
}

Status ArtifactDraft::add_published(const Location& folder, std::uint64_t manifest, std::string_view path,
                                    const CallOptions& call, Additions& additions) const {
  HEADRACE_TRY(const auto published, read_published(folder, {.number = manifest, .call = call}));
  if (!published) return Error{Code::kAborted, concat(folder.describe(), " was overwritten meanwhile")};
  std::map<std::string, ArtifactEntry, std::less<>> missing;
  for (const ManifestPart& part : published->manifest.parts)
    missing[part.key] = {.size_bytes = part.size_bytes, .crc32c = part.crc32c};
  missing[numbered_key(kManifestPrefix, manifest)] = {.sha256 = published->digest};
  // With the entry of ownership, a copy of the folder has a complete chain; old folders may have no such
  // entry.
  const std::uint64_t owner = published->manifest.entry;
  if (owner > 0) missing[numbered_key(kManifestPrefix, owner)] = {};
  const std::string prefix = folder_prefix(folder.key);
  Status added;
  HEADRACE_CHECK(folder.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const auto found = missing.find(std::string_view(object.key).substr(prefix.size()));
    if (found == missing.end()) return true;
    ArtifactEntry& entry = found->second;
    if (entry.crc32c && object.size_bytes != entry.size_bytes) return true;  // reported as missing
    entry.size_bytes = object.size_bytes;
    entry.version = object.version.token;
    auto url = url_of(folder.at(found->first));
    added = url ? Status{} : Status(url.error());
    if (added) {
      entry.url = *std::move(url);
      added = add(join_key(path, found->first), {.entry = std::move(entry)}, additions);
    }
    missing.erase(found);
    return added.has_value();
  }));
  HEADRACE_CHECK(added);
  if (owner > 0) missing.erase(numbered_key(kManifestPrefix, owner));
  if (missing.empty()) return {};
  return Error{Code::kDataLoss, concat(folder.describe(), " does not hold ", missing.begin()->first,
                                       " as its manifest describes it: headrace verify ",
                                       recorded_url(folder), " shows what is wrong")};
}

Status ArtifactDraft::add_objects(const Location& folder, std::string_view path, bool by_content,
                                  const CallOptions& call, Additions& additions) const {
  const std::string prefix = folder_prefix(folder.key);
  Status added;
  HEADRACE_CHECK(folder.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const std::string name = object.key.substr(prefix.size());
    if (is_record(name)) return true;
    Addition addition{.entry = {.size_bytes = object.size_bytes}, .object = object};
    const Location at = folder.at(name);
    if (by_content) {
      addition.kept = at;
    } else {
      auto url = url_of(at);
      if (!url) {
        added = std::move(url).error();
        return false;
      }
      addition.entry.url = *std::move(url);
      addition.entry.version = object.version.token;
    }
    added = add(join_key(path, name), std::move(addition), additions);
    return added.has_value();
  }));
  HEADRACE_CHECK(added);
  if (!additions.empty()) return {};
  return Error{Code::kNotFound, concat("there are no objects in ", folder.describe())};
}

Status ArtifactDraft::add_reference(const Location& location, std::string_view path,
                                    const CallOptions& call) {
  HEADRACE_TRY(Artifact source, describe_artifact(location, {.call = call}));
  if (source.kind == "pattern")
    return Error{Code::kInvalidArgument,
                 concat(location.describe(), " is a pattern: add its folder, or its objects one by one")};
  Additions added;
  if (source.manifest > 0) {
    HEADRACE_CHECK(add_published(location, source.manifest, path, call, added));
  } else if (source.kind == "folder") {
    HEADRACE_CHECK(add_objects(location, path, false, call, added));
  } else {
    HEADRACE_TRY(ObjectInfo object, location.store->stat(location.key, call));
    HEADRACE_TRY(std::string url, url_of(location));
    HEADRACE_CHECK(add(path.empty() ? std::string(last_segment(location.key)) : std::string(path),
                       {.entry = {.url = std::move(url),
                                  .version = object.version.token,
                                  .size_bytes = object.size_bytes,
                                  .crc32c = object.crc32c}},
                       added));
  }
  additions_.merge(added);
  source.name = "source";
  sources_.push_back(std::move(source));
  return {};
}

Status ArtifactDraft::add_file(const Location& object, std::string_view path, const CallOptions& call) {
  HEADRACE_CHECK(check_key(object.key));
  HEADRACE_TRY(ObjectInfo info, object.store->stat(object.key, call));
  const std::uint64_t size_bytes = info.size_bytes;
  Additions added;
  HEADRACE_CHECK(add(path.empty() ? std::string(last_segment(object.key)) : std::string(path),
                     {.entry = {.size_bytes = size_bytes}, .kept = object, .object = std::move(info)},
                     added));
  additions_.merge(added);
  return {};
}

Status ArtifactDraft::add_folder(const Location& folder, std::string_view path, const CallOptions& call) {
  Additions added;
  HEADRACE_CHECK(add_objects(folder, path, true, call, added));
  additions_.merge(added);
  return {};
}

std::vector<Artifact> ArtifactDraft::sources() const {
  std::map<std::string, Artifact> by_url;
  for (const Artifact& source : sources_) by_url.emplace(source.url, source);
  if (by_url.size() > kMostSources) {
    std::map<std::string, Artifact> folders;  // one for each store
    for (const auto& [url, source] : by_url) {
      const auto [at, is_new] = folders.try_emplace(store_of(url), source);
      if (is_new) continue;
      at->second = {.url = common_folder(at->second.url, url), .kind = "folder", .name = "source"};
    }
    by_url = std::move(folders);
  }
  std::vector<Artifact> out;
  for (auto& [key, source] : by_url) {
    if (out.size() < kMostSources) out.push_back(std::move(source));
  }
  return out;
}

Result<ArtifactDraft::Complete> ArtifactDraft::complete(const CallOptions& call) const {
  if (additions_.empty())
    return Error{Code::kFailedPrecondition,
                 concat("the artifact ", head_.name, " has no entries: add references or files first")};
  std::vector<const Addition*> kept;
  for (const auto& [path, addition] : additions_) {
    if (addition.kept) kept.push_back(&addition);
  }
  std::vector<std::string> digests(kept.size());
  HEADRACE_CHECK(parallel_for(kObjectsAtOnce, kept.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(digests[i], digest_of(*kept[i]->kept, kept[i]->object, call));
    return {};
  }));
  Complete out{.version = head_};
  std::vector<ArtifactEntry> entries;
  std::size_t next = 0;
  for (const auto& [path, addition] : additions_) {
    ArtifactEntry& entry = entries.emplace_back(addition.entry);
    out.version.size_bytes += entry.size_bytes;
    if (!addition.kept) continue;
    entry.sha256 = digests[next++];
    out.contents.push_back(content_of(*addition.kept, addition.object, entry.sha256));
  }
  auto list = std::make_shared<const std::string>(serialize_entries(entries));
  if (list->size() > kEntryListLimitBytes)
    return Error{Code::kResourceExhausted,
                 concat("the list of entries of ", head_.name, " has ", format_size(list->size()),
                        ", more than the limit of ", format_size(kEntryListLimitBytes),
                        ": split it into several artifacts")};
  out.version.entries = sha256_hex(as_bytes(*list));
  out.version.count = entries.size();
  for (const Artifact& source : sources()) out.version.sources.push_back(source.url);
  out.contents.push_back(
      {.sha256 = out.version.entries,
       .size_bytes = list->size(),
       .read = [list](const std::function<Status(BytesView)>& visit, const CallOptions&) -> Status {
         for (std::size_t at = 0; at < list->size(); at += kPieceBytes)
           HEADRACE_CHECK(visit(as_bytes(std::string_view(*list).substr(at, kPieceBytes))));
         return {};
       }});
  return out;
}

}  // namespace headrace

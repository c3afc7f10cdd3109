#include "headrace/track/catalog.h"

#include <optional>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/track/redact.h"
#include "headrace/track/run_keys.h"
#include "headrace/track/runs.h"

namespace headrace {
namespace {

constexpr std::size_t kMostPlaceBytes = 400;
constexpr std::size_t kMostRuns = 100'000;
constexpr int kRequestsAtOnce = 8;

std::string index_prefix(CatalogIndex index) {
  return concat(kCatalogPrefix, index == CatalogIndex::kInput ? "input/" : "output/");
}

// The place of a URL in the catalog: "s3://datasets/a/b" → "s3/datasets/a/b". The URL may come from a record
// that somebody else wrote.
// \error kInvalidArgument  no key can hold it
Result<std::string> place_of(std::string_view url) {
  const std::string clean = redact_secrets(url);
  const std::size_t end = clean.find("://");
  std::string place = end == std::string::npos ? concat("-/-/", clean) : clean.substr(0, end);
  if (end != std::string::npos) {
    const std::string_view rest = std::string_view(clean).substr(end + 3);
    place += concat(rest.empty() || rest.starts_with('/') ? "/-" : "/", rest);
  }
  while (place.ends_with('/')) place.pop_back();
  if (place.size() > kMostPlaceBytes) {
    const std::size_t cut = place.rfind('/', kMostPlaceBytes);
    if (cut == std::string::npos) return Error{Code::kInvalidArgument, "the scheme of a URL is too long"};
    place.resize(cut);
  }
  HEADRACE_CHECK(check_key(place));
  return place;
}

// Whether a digest from a record can be part of a key.
bool is_name(std::string_view digest) { return static_cast<bool>(check_run_name(digest)); }

std::string entry_name(const CatalogEntry& entry) {
  return concat("@", entry.command, ",", entry.part, ",", entry.run);
}

std::optional<CatalogEntry> parse_catalog_entry(std::string_view key) {
  const std::size_t begin = key.rfind("/@");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::vector<std::string> words = split(key.substr(begin + 2), ',');
  if (words.size() != 3 || !parse_part_name(words[1]) || !check_run_name(words[2])) return std::nullopt;
  return CatalogEntry{words[0], words[1], words[2]};
}

Result<std::string> key_of_entry(CatalogIndex index, std::string_view url, const CatalogEntry& entry) {
  HEADRACE_TRY(const std::string place, place_of(url));
  return concat(index_prefix(index), place, "/", entry_name(entry));
}

std::string key_of_digest(std::string_view digest, const CatalogEntry& entry) {
  return concat(kCatalogPrefix, "digest/", digest, "/", entry_name(entry));
}

Status create_entry(const Location& root, const std::string& name, const CallOptions& call) {
  const Location at = root.at(name);
  HEADRACE_CHECK(check_key(at.key));
  const auto written = at.store->write(at.key, {}, {.only_if_absent = true, .call = call});
  if (!written && written.error().code != Code::kAlreadyExists) return written.error();
  return {};
}

// Adds the runs of the entries whose keys begin with `prefix`.
Status add_runs(const Location& root, std::string_view prefix, const CallOptions& call,
                std::set<std::string>& runs) {
  HEADRACE_CHECK(root.store->list(root.at(prefix).key, {.call = call}, [&](const ObjectInfo& object) {
    if (auto entry = parse_catalog_entry(object.key)) runs.insert(std::move(entry->run));
    return runs.size() <= kMostRuns;
  }));
  if (runs.size() <= kMostRuns) return {};
  return Error{Code::kResourceExhausted,
               concat("more than ", kMostRuns, " runs recorded below ", root.describe(),
                      " concern this URL; ask about a URL below it")};
}

// The keys of all catalog entries that a part needs. A URL that no key can hold has no entry.
std::vector<std::string> entries_of(const RunPart& part, const std::string& run) {
  const CatalogEntry entry = {part.start.command, part.name, run};
  std::vector<std::string> keys;
  const auto add_url = [&](CatalogIndex index, std::string_view url) {
    auto key = key_of_entry(index, url, entry);
    if (key && check_key(*key)) keys.push_back(*std::move(key));
  };
  const auto add = [&](CatalogIndex index, const std::vector<Artifact>& artifacts) {
    for (const Artifact& artifact : artifacts) {
      add_url(index, artifact.url);
      if (index == CatalogIndex::kOutput && is_name(artifact.digest))
        keys.push_back(key_of_digest(artifact.digest, entry));
    }
  };
  if (!part.start.output.empty()) add_url(CatalogIndex::kOutput, part.start.output);
  add(CatalogIndex::kInput, part.start.inputs);
  add(CatalogIndex::kInput, part.end ? part.end->inputs : part.so_far.inputs);
  add(CatalogIndex::kOutput, part.end ? part.end->outputs : part.so_far.outputs);
  return keys;
}

}  // namespace

Status add_to_catalog(const Location& root, CatalogIndex index, std::string_view url,
                      const CatalogEntry& entry, const CallOptions& call) {
  HEADRACE_TRY(const std::string key, key_of_entry(index, url, entry));
  return create_entry(root, key, call);
}

Status add_to_catalog(const Location& root, CatalogIndex index, const Artifact& artifact,
                      const CatalogEntry& entry, const CallOptions& call) {
  HEADRACE_CHECK(add_to_catalog(root, index, artifact.url, entry, call));
  if (index == CatalogIndex::kInput || artifact.digest.empty()) return {};
  return create_entry(root, key_of_digest(artifact.digest, entry), call);
}

Result<std::set<std::string>> runs_near(const Location& root, CatalogIndex index, std::string_view url,
                                        const CallOptions& call) {
  const auto place = place_of(url);
  if (!place) return std::set<std::string>();
  std::vector<std::string> prefixes = {concat(index_prefix(index), *place, "/")};
  for (std::string above = parent_key(*place); !parent_key(above).empty(); above = parent_key(above))
    prefixes.push_back(concat(index_prefix(index), above, "/@"));
  std::vector<std::set<std::string>> found(prefixes.size());
  HEADRACE_CHECK(parallel_for(kRequestsAtOnce, prefixes.size(),
                              [&](std::size_t i) { return add_runs(root, prefixes[i], call, found[i]); }));
  std::set<std::string> runs;
  for (std::set<std::string>& some : found) runs.merge(some);
  return runs;
}

Result<std::set<std::string>> runs_that_published(const Location& root, std::string_view digest,
                                                  const CallOptions& call) {
  std::set<std::string> runs;
  if (!is_name(digest)) return runs;
  HEADRACE_CHECK(add_runs(root, concat(kCatalogPrefix, "digest/", digest, "/"), call, runs));
  return runs;
}

Result<std::vector<CatalogEntry>> newest_entries(const Location& root, std::string_view output,
                                                 std::string_view command, std::uint64_t rank,
                                                 std::size_t most, const CallOptions& call) {
  HEADRACE_TRY(const std::string place, place_of(output));
  const Location prefix =
      root.at(concat(index_prefix(CatalogIndex::kOutput), place, "/@", command, ",", part_name_prefix(rank)));
  std::vector<CatalogEntry> entries;
  HEADRACE_CHECK(prefix.store->list(prefix.key, {.call = call}, [&](const ObjectInfo& object) {
    if (auto entry = parse_catalog_entry(object.key)) entries.push_back(std::move(*entry));
    return entries.size() < most;
  }));
  return entries;
}

Result<bool> has_catalog(const Location& root, const CallOptions& call) {
  bool found = false;
  HEADRACE_CHECK(root.store->list(root.at(kCatalogPrefix).key, {.call = call},
                                  [&](const ObjectInfo&) { return !(found = true); }));
  return found;
}

Result<std::size_t> repair_catalog(const Location& root, const CallOptions& call) {
  std::set<std::string> missing;  // keys of entries, relative to the root
  HEADRACE_TRY(const RunList records, list_runs(root, kMostRuns, call));
  if (records.runs.empty() && records.damaged.empty())
    return Error{Code::kNotFound, concat("no runs are recorded below ", root.describe())};
  for (const RunRecord& run : records.runs) {
    for (const RunPart& part : run.parts) {
      if (part.name.empty()) continue;  // a part of version 1, which has no catalog
      for (std::string& key : entries_of(part, run.id)) missing.insert(std::move(key));
    }
  }
  const std::size_t cut = root.at(kCatalogPrefix).key.size() - kCatalogPrefix.size();
  HEADRACE_CHECK(root.store->list(root.at(kCatalogPrefix).key, {.call = call}, [&](const ObjectInfo& object) {
    missing.erase(object.key.substr(cut));
    return true;
  }));
  const std::vector<std::string> keys(missing.begin(), missing.end());
  HEADRACE_CHECK(parallel_for(kRequestsAtOnce, keys.size(),
                              [&](std::size_t i) { return create_entry(root, keys[i], call); }));
  return keys.size();
}

}  // namespace headrace

#include "headrace/artifact/fetch.h"

#include "headrace/artifact/content.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/track/created_once.h"

namespace headrace {
namespace {

Status fetch_entry(StoreRegistry& registry, const Location& root, const ArtifactEntry& entry,
                   const Location& to, const CallOptions& call,
                   const std::function<void(std::uint64_t)>& advance) {
  HEADRACE_TRY(const PlacedEntry from, place_entry(registry, root, entry, call));
  HEADRACE_TRY(OnceUpload upload, OnceUpload::start(to, {.call = call}));
  Sha256 digest;
  HEADRACE_CHECK(read_in_pieces(*from.location.store, from.object, call, [&](BytesView piece) -> Status {
    if (!entry.sha256.empty()) digest.update(piece);
    if (advance) advance(piece.size());
    return upload.append(piece);
  }));
  const bool is_altered = (!entry.sha256.empty() && hex(digest.finish()) != entry.sha256) ||
                          (entry.crc32c && upload.crc32c() != *entry.crc32c);
  if (is_altered)
    return Error{Code::kDataLoss, concat(from.location.describe(), " has other bytes than ", entry.path,
                                         " had when the artifact was logged")};
  return upload.finish();
}

}  // namespace

Result<PlacedEntry> place_entry(StoreRegistry& registry, const Location& root, const ArtifactEntry& entry,
                                const CallOptions& call) {
  if (!entry.is_reference()) {
    HEADRACE_TRY(auto found, find_content(root, entry.sha256, call));
    return PlacedEntry{std::move(found.first), std::move(found.second)};
  }
  HEADRACE_TRY(Location location, registry.open(entry.url));
  HEADRACE_TRY(ObjectInfo object, location.store->stat(location.key, call));
  const bool is_same = object.size_bytes == entry.size_bytes &&
                       (entry.version.empty() || object.version.token == entry.version || entry.crc32c ||
                        !entry.sha256.empty());
  if (is_same) return PlacedEntry{std::move(location), std::move(object)};
  return Error{Code::kFailedPrecondition,
               concat(location.describe(), " has changed since the artifact was logged: it had ",
                      entry.size_bytes, " bytes and the version ", entry.version, "; it has ",
                      object.size_bytes, " bytes and the version ", object.version.token)};
}

Status fetch_entries(StoreRegistry& registry, const Location& root, std::span<const ArtifactEntry> entries,
                     const Location& to, const CallOptions& call,
                     const std::function<void(std::uint64_t)>& advance) {
  return parallel_for(kObjectsAtOnce, entries.size(), [&](std::size_t i) {
    return fetch_entry(registry, root, entries[i], to.at(entries[i].path), call, advance);
  });
}

}  // namespace headrace

#include "headrace/artifact/fetch.h"

#include <optional>

#include "headrace/artifact/content.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/track/created_once.h"

namespace headrace {
namespace {

using FetchAdvance = std::function<void(std::uint64_t)>;

// Where the object of a reference is now.
struct PlacedReference {
  Location location;
  ObjectInfo object;
};

Result<PlacedReference> place_reference(StoreRegistry& registry, const ArtifactEntry& entry,
                                        const CallOptions& call) {
  HEADRACE_TRY(Location location, registry.open(entry.url));
  HEADRACE_TRY(ObjectInfo object, location.store->stat(location.key, call));
  const bool is_same = object.size_bytes == entry.size_bytes &&
                       (entry.version.empty() || object.version.token == entry.version || entry.crc32c ||
                        !entry.sha256.empty());
  if (is_same) return PlacedReference{std::move(location), std::move(object)};
  return Error{Code::kFailedPrecondition,
               concat(location.describe(), " has changed since the artifact was logged: it had ",
                      entry.size_bytes, " bytes and the version ", entry.version, "; now it has ",
                      object.size_bytes, " bytes and the version ", object.version.token)};
}

Status fetch_reference(StoreRegistry& registry, const ArtifactEntry& entry, const Location& to,
                       const CallOptions& call, const FetchAdvance& advance) {
  HEADRACE_TRY(const PlacedReference from, place_reference(registry, entry, call));
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
    return Error{Code::kDataLoss, concat("the bytes of ", from.location.describe(), " differ from those of ",
                                         entry.path, " when the artifact was logged")};
  return upload.finish();
}

Status fetch_content(const Location& root, const ArtifactEntry& entry, const Location& to,
                     const CallOptions& call, const FetchAdvance& advance) {
  std::optional<OnceUpload> upload;
  const auto begin = [&](const ObjectInfo&) -> Status {
    HEADRACE_TRY(upload, OnceUpload::start(to, {.call = call}));
    return {};
  };
  const auto add = [&](BytesView piece) {
    if (advance) advance(piece.size());
    return upload->append(piece);
  };
  HEADRACE_CHECK(read_content(root, entry.sha256, entry.size_bytes, call, {.begin = begin, .add = add}));
  return upload->finish();
}

}  // namespace

Status fetch_entries(StoreRegistry& registry, const Location& root, std::span<const ArtifactEntry> entries,
                     const Location& to, const CallOptions& call,
                     const std::function<void(std::uint64_t)>& advance) {
  return parallel_for(kObjectsAtOnce, entries.size(), [&](std::size_t i) {
    const Location place = to.at(entries[i].path);
    if (entries[i].is_reference()) return fetch_reference(registry, entries[i], place, call, advance);
    return fetch_content(root, entries[i], place, call, advance);
  });
}

}  // namespace headrace

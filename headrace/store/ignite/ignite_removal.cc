// Removes many objects at the same time. Notes are written first, so that gc can find the chunks that a
// killed removal leaves.

#include <map>

#include "headrace/base/text.h"
#include "headrace/store/ignite/ignite_chunks.h"
#include "headrace/store/ignite/ignite_heads.h"

namespace headrace {
namespace {

constexpr std::size_t kObjectsAtOnce = 500;
constexpr int kMostRounds = 100;

struct Removal {
  std::string key;
  Bytes encoded_key;
  StoredHead stored;
  UploadId note{};  // none if there are no chunks
  Bytes note_entry{};
};

// Returns the objects that exist under these keys.
Result<std::vector<Removal>> find_objects(const IgniteCaches& caches, std::span<const std::string> keys) {
  std::vector<Bytes> encoded;
  for (const std::string& key : keys) encoded.push_back(ignite::encode_string(key));
  const Result<ignite::StoredEntries> stored =
      caches.heads.get_all({encoded.begin(), encoded.end()}, caches.stop);
  if (!stored && is_missing(stored.error())) return std::vector<Removal>();
  if (!stored) return stored.error();
  std::vector<Removal> found;
  for (const ignite::Entry& entry : stored->entries) {
    Removal removal{.key = std::string(object_key(entry.key).value_or("")),
                    .encoded_key = Bytes(entry.key.begin(), entry.key.end()),
                    .stored = {.entry = Bytes(entry.value.begin(), entry.value.end())}};
    Result<IgniteHead> head = decode_head(removal.stored.entry);
    if (!head) return std::move(head).error().in(removal.key);
    removal.stored.head = *std::move(head);
    if (!removal.stored.head.is_claim) found.push_back(std::move(removal));
  }
  return found;
}

Status put_notes(const IgniteCaches& caches, std::vector<Removal>& removals, std::int64_t now_ms) {
  std::vector<Bytes> keys;
  std::vector<ignite::Entry> entries;
  keys.reserve(removals.size());
  for (Removal& removal : removals) {
    if (removal.stored.head.chunk_bytes == 0) continue;
    removal.note = UploadId::make();
    removal.note_entry = encode_note({.attempts = 1,
                                      .upload = removal.note,
                                      .replaced = removal.stored.head.upload,
                                      .replaced_chunks = removal.stored.head.chunks(),
                                      .chunk_bytes = removal.stored.head.chunk_bytes,
                                      .modified_ms = now_ms,
                                      .key = removal.key});
    keys.push_back(removal.note.chunk_key(0));
    entries.push_back({keys.back(), removal.note_entry});
  }
  if (entries.empty()) return {};
  return caches.heads.put_all(entries, caches.stop);
}

// Removes each object once. Returns the keys that must be tried again because other writers have changed
// their objects.
Result<std::vector<std::string>> remove_once(const IgniteCaches& caches, std::span<const std::string> keys,
                                             std::int64_t now_ms) {
  HEADRACE_TRY(std::vector<Removal> removals, find_objects(caches, keys));
  HEADRACE_CHECK(put_notes(caches, removals, now_ms));
  std::vector<std::string> again;
  for (const Removal& removal : removals) {
    const Result<bool> removed =
        caches.heads.remove_if_equals(removal.encoded_key, removal.stored.entry, caches.stop);
    if (!removed && removed.error().code != Code::kUnknown) return removed.error().in(removal.key);
    if (!removed || !*removed) again.push_back(removal.key);
    if (removal.note.is_none()) continue;
    if (removed && *removed) {
      HEADRACE_CHECK(remove_chunks(caches, removal.stored.head.upload, removal.stored.head.chunks()));
      HEADRACE_CHECK(remove_note(caches, removal.note));
    } else {
      HEADRACE_CHECK(remove_upload(caches, removal.note));
    }
  }
  return again;
}

}  // namespace

Status remove_objects(const IgniteCaches& caches, std::span<const std::string> keys, std::int64_t now_ms) {
  for (std::size_t first = 0; first < keys.size(); first += kObjectsAtOnce) {
    const auto part = keys.subspan(first, std::min(kObjectsAtOnce, keys.size() - first));
    std::vector<std::string> left(part.begin(), part.end());
    for (int round = 0; !left.empty(); ++round) {
      if (round == kMostRounds)
        return Error{Code::kUnavailable, concat("other writers keep changing ", left.front(),
                                                "; remove it when nobody writes to it")};
      HEADRACE_TRY(left, remove_once(caches, left, now_ms));
    }
  }
  return {};
}

}  // namespace headrace

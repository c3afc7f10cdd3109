#include "headrace/stream/index_cache.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

// In memory, an index of this size may take many times as much.
constexpr std::uint64_t kCachedIndexLimitBytes = 64 << 20;
constexpr std::uint64_t kNotesLimitBytes = 1 << 20;
constexpr std::string_view kIndexSuffix = ".index";
constexpr std::string_view kNotesSuffix = ".notes";

Location place_of(const Location& folder, const ForeignObject& object, std::string_view suffix) {
  const std::string identity =
      concat(object.location.describe(), '\0', object.object.size_bytes, '\0', object.object.version.token);
  return folder.at(concat(sha256_hex(as_bytes(identity)), suffix));
}

bool is_kept(std::string_view name) {
  constexpr std::size_t kDigits = 64;
  const std::string_view suffix = name.substr(std::min(name.size(), kDigits));
  return (suffix == kIndexSuffix || suffix == kNotesSuffix) &&
         name.find_first_not_of("0123456789abcdef") == kDigits;
}

}  // namespace

std::optional<ForeignShard> find_kept_index(const Location& folder, const ForeignObject& object,
                                            const CallOptions& call) {
  const Location kept = place_of(folder, object, kIndexSuffix);
  const auto read = read_object(*kept.store, kept.key, kCachedIndexLimitBytes, call);
  if (!read) return std::nullopt;
  auto index = ShardIndex::parse(read->data);
  if (!index || index->shard_bytes() != object.object.size_bytes) return std::nullopt;
  ForeignShard shard = foreign_shard(object, *index);
  const Location notes = place_of(folder, object, kNotesSuffix);
  const auto lines = read_object(*notes.store, notes.key, kNotesLimitBytes, call);
  if (lines) shard.notes = split(as_text(lines->data), '\n');
  return shard;
}

void keep_index(const Location& folder, const ForeignObject& object, const ForeignShard& shard,
                const CallOptions& call) {
  if (shard.shard.index.size() > kCachedIndexLimitBytes) return;  // the index would never be read
  const Location notes = place_of(folder, object, kNotesSuffix);
  const Location index = place_of(folder, object, kIndexSuffix);
  if (!shard.notes.empty() && !write_text(*notes.store, notes.key, join(shard.notes, "\n"), {.call = call}))
    return;
  (void)index.store->write(index.key, shard.shard.index, {.call = call}).has_value();
}

void prune_indexes(const Location& folder, std::uint64_t most_bytes, const CallOptions& call) {
  const std::string prefix = folder_prefix(folder.key);
  auto found = list_all(*folder.store, prefix, {.call = call});
  if (!found) return;
  std::erase_if(*found, [&](const ObjectInfo& object) {
    return !is_kept(std::string_view(object.key).substr(prefix.size()));
  });
  std::uint64_t bytes = 0;
  for (const ObjectInfo& object : *found) bytes += object.size_bytes;
  if (bytes <= most_bytes) return;
  std::ranges::sort(*found, {}, &ObjectInfo::modified);
  std::vector<std::string> keys;
  for (const ObjectInfo& object : *found) {
    if (bytes <= most_bytes / 5 * 4) break;
    bytes -= object.size_bytes;
    keys.push_back(object.key);
  }
  (void)folder.store->remove_many(keys, call).has_value();
}

}  // namespace headrace

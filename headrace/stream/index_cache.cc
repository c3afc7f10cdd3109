#include "headrace/stream/index_cache.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/io/digest.h"

namespace headrace {
namespace {

constexpr std::uint64_t kIndexLimitBytes = 64 << 20;  // many times this in memory, at worst
constexpr std::string_view kSuffix = ".index";

Location place_of(const Location& folder, const ForeignObject& object) {
  const std::string identity =
      concat(object.location.describe(), '\0', object.object.size_bytes, '\0', object.object.version.token);
  return folder.at(sha256_hex(as_bytes(identity)) + std::string(kSuffix));
}

bool is_kept_index(std::string_view name) {
  constexpr std::size_t kDigits = 64;
  return name.size() == kDigits + kSuffix.size() && name.ends_with(kSuffix) &&
         name.find_first_not_of("0123456789abcdef") == kDigits;
}

}  // namespace

std::optional<ShardIndex> find_kept_index(const Location& folder, const ForeignObject& object,
                                          const CallOptions& call) {
  const Location kept = place_of(folder, object);
  const auto read = read_object(*kept.store, kept.key, kIndexLimitBytes, call);
  if (!read) return std::nullopt;
  auto index = ShardIndex::parse(read->data);
  if (!index || index->shard_bytes() != object.object.size_bytes) return std::nullopt;
  return *std::move(index);
}

void keep_index(const Location& folder, const ForeignObject& object, BytesView index,
                const CallOptions& call) {
  const Location kept = place_of(folder, object);
  (void)kept.store->write(kept.key, index, {.call = call}).has_value();
}

void prune_indexes(const Location& folder, std::uint64_t most_bytes, const CallOptions& call) {
  const std::string prefix = folder_prefix(folder.key);
  auto found = list_all(*folder.store, prefix, {.call = call});
  if (!found) return;
  std::erase_if(*found, [&](const ObjectInfo& object) {
    return !is_kept_index(std::string_view(object.key).substr(prefix.size()));
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

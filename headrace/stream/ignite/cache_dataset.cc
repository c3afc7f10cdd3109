#include "headrace/stream/ignite/cache_dataset.h"

#include <algorithm>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/stream/ignite/snapshot.h"
#include "headrace/stream/ignite/snapshot_scan.h"

namespace headrace::ignite {
namespace {

Location place_in_memory() {
  Location place{.store = make_memory_store("ignite"), .key = "snapshot"};
  return place;
}

bool holds(const std::vector<std::int32_t>& all, std::int32_t partition) {
  return all.empty() || std::ranges::find(all, partition) != all.end();
}

// Removes the sections of all partitions that are not wanted.
Status select(const CacheRows& rows, const CacheDatasetOptions& options, const std::string& place,
              Snapshot& snapshot) {
  const SnapshotDescription& description = snapshot.description;
  const auto refuse = [&](std::string_view what) {
    return Error{Code::kFailedPrecondition,
                 concat("the snapshot at ", place, " ", what, "; to take a snapshot of ", rows.url,
                        ", give another URL")};
  };
  if (description.cache != rows.cache.name())
    return refuse(concat("holds the cache \"", printable_line(description.cache, 200), '"'));
  std::vector<std::int32_t> wanted = options.partitions;
  std::ranges::sort(wanted);
  if (wanted.empty() && !description.partitions.empty()) return refuse("holds only some of the partitions");
  for (const std::int32_t partition : wanted)
    if (!holds(description.partitions, partition)) return refuse(concat("lacks partition ", partition));
  std::erase_if(snapshot.sections, [&](const SnapshotSection& section) {
    return !wanted.empty() && !std::ranges::binary_search(wanted, section.partition);
  });
  return {};
}

DatasetContents contents_of(const CacheRows& rows, Snapshot snapshot,
                            const std::shared_ptr<const ShardKind>& kind) {
  DatasetContents contents{.url = rows.url,
                           .digest = snapshot.digest(),
                           .attributes = std::move(snapshot.description.dataset),
                           .remarks = std::move(snapshot.description.remarks)};
  std::optional<std::int32_t> partition;
  for (const SnapshotSection& section : snapshot.sections) {
    if (partition != section.partition) {
      partition = section.partition;
      contents.shards.push_back(
          {.kind = kind, .name = rows.describe(section.partition), .place = concat(section.partition)});
    }
    DatasetShard& shard = contents.shards.back();
    contents.blocks.push_back({.shard = static_cast<std::uint32_t>(contents.shards.size() - 1),
                               .first_record = shard.record_count,
                               .record_count = section.row_count,
                               .stored_offset = section.offset_bytes,
                               .stored_bytes = section.size_bytes,
                               .stream_bytes = section.room_bytes});
    shard.record_count += section.row_count;
  }
  return contents;
}

// If two processes take a snapshot at the same time, the second one reads the snapshot of the first.
Status take(const CacheRows& rows, const CacheDatasetOptions& options, const Location& target,
            const CallOptions& call) {
  const SnapshotScanOptions scan{.partitions = options.partitions,
                                 .memory_limit_bytes = options.memory_limit_bytes,
                                 .is_in_memory = !options.snapshot};
  Status taken = take_snapshot(rows, scan, target, call);
  return !taken && taken.error().code == Code::kAlreadyExists ? Status{} : taken;
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_cache_dataset(std::shared_ptr<const CacheRows> rows,
                                                          const CacheDatasetOptions& options,
                                                          const CallOptions& call) {
  const Location place = options.snapshot ? *options.snapshot : place_in_memory();
  Result<Snapshot> snapshot = read_snapshot(place, call);
  if (!snapshot && snapshot.error().code == Code::kNotFound) {
    HEADRACE_CHECK(take(*rows, options, place, call));
    snapshot = read_snapshot(place, call);
  }
  if (!snapshot) return std::move(snapshot).error();
  HEADRACE_CHECK(select(*rows, options, place.describe(), *snapshot));
  const auto kind = snapshot_shards(rows, place, snapshot->object.version, options.take_changed);
  return Dataset::make(contents_of(*rows, *std::move(snapshot), kind));
}

}  // namespace headrace::ignite

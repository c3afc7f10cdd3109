#include "headrace/stream/ignite/cache_rows.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/cluster_types.h"
#include "headrace/net/ignite/object_cursor.h"
#include "headrace/record/ignite_example.h"
#include "headrace/record/record_decoder.h"
#include "headrace/stream/ignite/snapshot.h"

namespace headrace::ignite {
namespace {

constexpr std::size_t kShownKeyBytes = 100;

Error changed(std::string_view what) {
  return {Code::kFailedPrecondition,
          concat(what,
                 " since the snapshot was taken; take another snapshot, or leave such rows out with "
                 "on_corrupt=\"skip-record\"")};
}

class CacheRowReader final : public BlockReader {
 public:
  CacheRowReader(const Dataset& dataset, BlockReaderOptions options, std::shared_ptr<const CacheRows> rows,
                 Location snapshot, Version version, bool take_changed)
      : dataset_(dataset),
        pool_(std::move(options.pool)),
        rows_(std::move(rows)),
        snapshot_(std::move(snapshot)),
        version_(std::move(version)),
        take_changed_(take_changed),
        encoder_(column_names(options.columns), rows_->types) {}

  Result<LoadedBlock> read(const DatasetBlock& block, const CallOptions& call) override {
    HEADRACE_TRY(const PooledBuffer section, fetch_keys(block, call));
    const Result<std::vector<SnapshotRow>> wanted = parse_section(section.view(), block.record_count);
    if (!wanted) {
      return LoadedBlock::lost(block.record_count, Error(wanted.error()).in(snapshot_.describe()));
    }
    HEADRACE_TRY(const StoredEntries found, fetch_rows(block, *wanted, call));
    return make_records(block, *wanted, found);
  }

 private:
  Result<PooledBuffer> fetch_keys(const DatasetBlock& block, const CallOptions& call) {
    const Stopwatch stopwatch(stats_.fetch_seconds);
    PooledBuffer section = pool_->take(block.stored_bytes);
    HEADRACE_CHECK(read_exactly(*snapshot_.store, snapshot_.key, section.bytes(),
                                {.offset_bytes = block.stored_offset, .if_version = version_, .call = call}));
    return section;
  }

  Result<StoredEntries> fetch_rows(const DatasetBlock& block, const std::vector<SnapshotRow>& wanted,
                                   const CallOptions& call) {
    const Stopwatch stopwatch(stats_.fetch_seconds);
    std::vector<BytesView> keys;
    keys.reserve(wanted.size());
    for (const SnapshotRow& row : wanted) keys.push_back(row.key);
    const std::int32_t partition =
        parse_number<std::int32_t>(dataset_.shards()[block.shard].place).value_or(-1);
    HEADRACE_TRY(StoredEntries found, rows_->cache.get_all_in(partition, keys, call.stop));
    for (const Response& response : found.responses) stats_.fetched_bytes += response.body().size();
    return found;
  }

  Result<LoadedBlock> make_records(const DatasetBlock& block, const std::vector<SnapshotRow>& wanted,
                                   const StoredEntries& found) {
    const Stopwatch stopwatch(stats_.check_seconds);
    std::unordered_map<std::string_view, BytesView> values;
    values.reserve(found.entries.size());
    for (const Entry& entry : found.entries) values.emplace(as_text(entry.key), entry.value);
    BlockContents contents{.bytes = pool_->take(block.stream_bytes), .data_offset = kRecordFramingBytes};
    contents.offsets.reserve(wanted.size() + 1);
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < wanted.size(); ++i) {
      contents.offsets.push_back(end);
      const auto value = values.find(as_text(wanted[i].key));
      const std::uint64_t room = block.stream_bytes - end - (wanted.size() - i) * kRecordFramingBytes;
      end += kRecordFramingBytes;
      Status made = value == values.end() ? Status(changed("the row was removed"))
                                          : make_record(wanted[i], value->second, room);
      if (made) {
        std::memcpy(contents.bytes.data() + end, example_.data(), example_.size());
        end += example_.size();
        continue;
      }
      Error error = std::move(made).error();
      if (error.code != Code::kFailedPrecondition && !is_error_of_record(error.code)) return error;
      const std::string name =
          concat(dataset_.describe_shard(block.shard), ", key ", key_text(wanted[i].key));
      contents.holes.push_back({i, i + 1, std::move(error).in(name)});
    }
    contents.offsets.push_back(end);
    return LoadedBlock(std::move(contents));
  }

  // Turns a row into a tf.Example, in `example_`.
  Status make_record(const SnapshotRow& row, BytesView value, std::uint64_t room_bytes) {
    if (!take_changed_ && fingerprint_of(value) != row.fingerprint)
      return changed("the value of the row has changed");
    example_.clear();
    HEADRACE_CHECK(encoder_.append(row.key, value, example_));
    return example_.size() <= room_bytes ? Status{} : changed("the rows of its block have grown");
  }

  const Dataset& dataset_;
  const std::shared_ptr<BufferPool> pool_;
  const std::shared_ptr<const CacheRows> rows_;
  const Location snapshot_;
  const Version version_;
  const bool take_changed_;
  IgniteRowEncoder encoder_;
  Bytes example_;
};

class SnapshotShards final : public ShardKind {
 public:
  SnapshotShards(std::shared_ptr<const CacheRows> rows, Location snapshot, Version version, bool take_changed)
      : rows_(std::move(rows)),
        snapshot_(std::move(snapshot)),
        version_(std::move(version)),
        take_changed_(take_changed) {}

  std::unique_ptr<BlockReader> make_reader(const Dataset& dataset,
                                           const BlockReaderOptions& options) const override {
    return std::make_unique<CacheRowReader>(dataset, options, rows_, snapshot_, version_, take_changed_);
  }
  // Counts the keys, the rows as they were encoded, and one record.
  std::uint64_t reading_bytes(const DatasetShard&, const DatasetBlock& block) const override {
    return block.stored_bytes + 2 * block.stream_bytes;
  }

 private:
  const std::shared_ptr<const CacheRows> rows_;
  const Location snapshot_;
  const Version version_;
  const bool take_changed_;
};

}  // namespace

CacheRows::CacheRows(std::shared_ptr<Cluster> cluster, const std::string& name)
    : cache(cluster, name),
      types(std::make_shared<BinaryTypes>(fetch_from(cluster))),
      url(concat("ignite://", cluster->options().addresses.front().text(), "/", printable_line(name, 200))) {}

std::string CacheRows::describe(std::int32_t partition) const {
  return partition < 0 ? url : concat(url, ", partition ", partition);
}

std::string key_text(BytesView key) {
  ObjectCursor cursor(key);
  TypeCode code{};
  std::string_view text;
  if (std::int64_t number = 0; cursor.read(code) && code == TypeCode::kLong && cursor.read(number))
    return concat(number);
  if (std::int32_t number = 0; code == TypeCode::kInt && cursor.read(number)) return concat(number);
  if (ObjectCursor name(key); name.take_name(text))
    return concat('"', printable_line(text, kShownKeyBytes), '"');
  return concat("0x", hex(key.first(std::min(key.size(), kShownKeyBytes / 2))));
}

std::shared_ptr<const ShardKind> snapshot_shards(std::shared_ptr<const CacheRows> rows,
                                                 const Location& snapshot, Version version,
                                                 bool take_changed) {
  return std::make_shared<const SnapshotShards>(std::move(rows), snapshot, std::move(version), take_changed);
}

}  // namespace headrace::ignite

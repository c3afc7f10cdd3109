#include "headrace/stream/ignite/snapshot_scan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/net/ignite/scan.h"
#include "headrace/record/ignite_example.h"
#include "headrace/record/tfrecord.h"
#include "headrace/stream/ignite/row_schema.h"
#include "headrace/stream/ignite/snapshot.h"

namespace headrace::ignite {
namespace {

class SnapshotScan {
 public:
  SnapshotScan(const CacheRows& rows, const SnapshotScanOptions& options, SnapshotWriter writer)
      : rows_(rows), options_(options), writer_(std::move(writer)) {}

  Status run(const CallOptions& call) {
    HEADRACE_TRY(const std::unique_ptr<Scan> scan,
                 Scan::open(rows_.cache, {.partitions = options_.partitions}, call.stop));
    while (true) {
      HEADRACE_TRY(const std::optional<Page> page, scan->next_page(call.stop));
      if (!page) break;
      HEADRACE_CHECK(add(*page));
    }
    std::vector<std::int32_t> partitions = options_.partitions;
    std::ranges::sort(partitions);
    return writer_.commit({.cache = rows_.cache.name(),
                           .partitions = std::move(partitions),
                           .dataset = {.compression = "none", .features = schema_.features()},
                           .remarks = schema_.remarks()});
  }

 private:
  Status add(const Page& page) {
    GatheredRows& gathered = gathered_[page.partition];
    gathered_bytes_ -= gathered.memory_bytes();
    for (const Entry& row : page.rows) HEADRACE_CHECK(add_row(page.partition, row, gathered));
    gathered_bytes_ += gathered.memory_bytes();
    const std::uint64_t held_bytes = gathered_bytes_ + (options_.is_in_memory ? writer_.size_bytes() : 0);
    if (held_bytes > options_.memory_limit_bytes) return too_large();
    if (!page.ends_partition) return {};
    gathered_bytes_ -= gathered.memory_bytes();
    Status written = writer_.add_partition(page.partition, std::move(gathered));
    gathered_.erase(page.partition);
    return written;
  }

  Status add_row(std::int32_t partition, const Entry& row, GatheredRows& gathered) {
    if (Status measured = measure(row); !measured)
      return std::move(measured).error().in(concat(rows_.describe(partition), ", key ", key_text(row.key)));
    const std::uint64_t room = std::max(example_.size(), row.key.size() + row.value.size());
    gathered.add({row.key, fingerprint_of(row.value)}, room + kRecordFramingBytes);
    return {};
  }

  // Turns a row into an example, and records its features.
  Status measure(const Entry& row) {
    DecodeBudget budget;
    HEADRACE_TRY(const Value key, decode_object(row.key, *rows_.types, budget));
    HEADRACE_TRY(const Value value, decode_object(row.value, *rows_.types, budget));
    example_.clear();
    IgniteFeatures features;
    HEADRACE_CHECK(append_formed_ignite_example(key, value, example_, features));
    schema_.add(features);
    return {};
  }

  Error too_large() const {
    return {Code::kResourceExhausted,
            concat("the snapshot of ", rows_.url, " needs more memory than ",
                   format_size(options_.memory_limit_bytes), ", after ", writer_.row_count(), " rows; ",
                   options_.is_in_memory ? "give it a URL in a store, or raise its memory"
                                         : "raise the snapshot's memory")};
  }

  const CacheRows& rows_;
  const SnapshotScanOptions& options_;
  SnapshotWriter writer_;
  RowSchema schema_;
  std::map<std::int32_t, GatheredRows> gathered_;  // the partitions that are being scanned
  std::uint64_t gathered_bytes_ = 0;
  Bytes example_;
};

}  // namespace

Status take_snapshot(const CacheRows& rows, const SnapshotScanOptions& options, const Location& target,
                     const CallOptions& call) {
  HEADRACE_TRY(SnapshotWriter writer, SnapshotWriter::create(target, call));
  return SnapshotScan(rows, options, std::move(writer)).run(call);
}

}  // namespace headrace::ignite

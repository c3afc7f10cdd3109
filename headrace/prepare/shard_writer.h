#pragma once

/// \file The second kind of task: encodes one shard's texts and writes its objects. Pure and idempotent: the
/// same texts give the same bytes under the same names, whoever writes them and however often.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/engine/encoder.h"
#include "headrace/prepare/record_spool.h"
#include "headrace/record/manifest.h"
#include "headrace/store/registry.h"

namespace headrace {

/// What decides a shard's bytes besides its texts.
struct ShardFormat {
  std::string compression = "gzip";  // or "none"
  int compression_level = 6;
  bool keep_text = true;  // features `text` and `id` beside `sentence` and `label`
  int label_count = 2;
};

/// Names and place of one shard.
struct ShardTask {
  int split = 0;
  std::string split_name;
  std::uint64_t number = 0;        // among the split's shards
  std::uint64_t shard_count = 0;   // of the split
  std::uint64_t first_record = 0;  // of the split's order
  std::uint64_t record_count = 0;
};

/// What a finished task leaves for the manifest.
struct ShardReceipt {
  ManifestPart shard;
  ManifestPart index;
  std::map<int, std::uint64_t> labels;  // label → records
};

/// "train-1a2b3c4d-00003-of-00017.tfrecord.gz": the plan's digest keeps shards of different plans apart.
std::string shard_name(const ShardTask& task, std::string_view plan_digest, const ShardFormat& format);

class ShardWriter {
 public:
  /// Borrows all; `receipts` is the folder for the receipts of this plan.
  ShardWriter(const RecordSpool& spool, const TextEncoder& encoder, ShardFormat format, Location output,
              Location receipts, std::string plan_digest);

  /// The receipt of an earlier process's task; none if it has not been done.
  Result<std::optional<ShardReceipt>> find_receipt(const ShardTask& task) const;

  /// Writes shard, index, receipt, in this order: who finds a receipt finds the rest. Thread-safe. Memory:
  /// some 16 MiB of texts, a few members, one batch of vectors, and what the store's upload holds.
  Result<ShardReceipt> write(const ShardTask& task) const;

 private:
  class Body;
  Status write_records(const ShardTask& task, Body& body, ShardReceipt& receipt) const;
  Status encode_records(std::span<const SpooledText> all, Body& body, ShardReceipt& receipt) const;
  Location receipt_location(const ShardTask& task) const;

  const RecordSpool& spool_;
  const TextEncoder& encoder_;
  const ShardFormat format_;
  const Location output_;
  const Location receipts_;
  const std::string plan_digest_;
};

}  // namespace headrace

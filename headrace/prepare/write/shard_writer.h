#pragma once

/// \file The second kind of task: writes one shard from the sorted rows of all slices. The same rows give the
/// same bytes under the same names, whichever process writes them and however often.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "headrace/prepare/arrange/arrange.h"
#include "headrace/record/manifest.h"

namespace headrace {

/// The record that a finished task leaves for the manifest. in = written + rejected + dropped.
struct ShardReceipt {
  std::string split{};
  std::optional<ManifestPart> shard{};  // nullopt, like `index`, if there are no records
  std::optional<ManifestPart> index{};
  std::optional<ManifestPart> report{};
  std::uint64_t in = 0;
  std::uint64_t written = 0;
  std::uint64_t rejected = 0;
  std::uint64_t dropped = 0;
  std::map<std::string, std::uint64_t> reasons{};
  /// Label feature → value → records.
  std::map<std::string, LabelCounts> labels{};
  std::string first_rejection{};
};

/// "train-1a2b3c4d-00003-of-00017.tfrecord.gz". `tag`: see name_tag.
std::string shard_name(const ShardTask& task, std::string_view tag, const std::string& compression);

/// "_headrace/report/1a2b3c4d-train-00003.jsonl.gz".
std::string shard_report_key(const ShardTask& task, std::string_view tag);

/// The receipt of a shard; nullopt if it was not written yet, or an object that the receipt names is missing.
Result<std::optional<ShardReceipt>> find_shard(const TaskContext& context, const ShardTask& task);

/// The indexes of the tasks without a receipt, ascending. Cost: a list.
Result<std::vector<std::uint64_t>> unwritten_shards(const TaskContext& context,
                                                    const std::vector<ShardTask>& tasks);

/// Called with the number of rows merged since the last call, and how many of them were rejected.
using ShardProgress = std::function<void(std::uint64_t rows, std::uint64_t rejected)>;

/// Creates shard, index, report and receipt, in this order: if a receipt exists, so do the objects that it
/// names. An object that another process has created with the same bytes is not written again. Memory: some
/// 16 MiB of rows, twice 8 MiB of the bytes to which they refer, a few gzip members, and the buffers of the
/// store's upload.
/// \error kInvalidArgument     more rows are rejected than `context.max_rejects`, or an object exceeds its
///                             limit
/// \error kDataLoss            the sorted rows are damaged
/// \error kFailedPrecondition  an object exists with other bytes: see create_once
/// \error kCancelled           `context.stop` was requested
/// \error of the store         an object to which a row refers cannot be read now: reference_reader.h
Result<ShardReceipt> write_shard(const TaskContext& context, const Arrangement& arrangement,
                                 const ShardTask& task, const ShardProgress& progress = {});

}  // namespace headrace

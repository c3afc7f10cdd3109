#pragma once

/// \file The second kind of task: one shard, from the sorted rows of all slices. The same rows give the same
/// bytes under the same names, whoever writes them and however often.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "headrace/prepare/arrange/arrange.h"
#include "headrace/record/manifest.h"

namespace headrace {

/// What a finished task leaves for the manifest. in = written + rejected + dropped.
struct ShardReceipt {
  std::string split{};
  std::optional<ManifestPart> shard{};  // none, and no index, without records
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

/// "train-1a2b3c4d-00003-of-00017.tfrecord.gz": the plan's digest keeps shards of different plans apart.
std::string shard_name(const ShardTask& task, std::string_view plan_digest, const std::string& compression);

/// The receipt of who wrote the shard, if it and what it names are there.
Result<std::optional<ShardReceipt>> find_shard(const TaskContext& context, const ShardTask& task);

/// Which of the tasks have no receipt, by their place, ascending. Cost: a list.
Result<std::vector<std::uint64_t>> unwritten_shards(const TaskContext& context,
                                                    const std::vector<ShardTask>& tasks);

/// Is told of rows that were merged since it was told last, and of those among them that were rejected.
using ShardProgress = std::function<void(std::uint64_t rows, std::uint64_t rejected)>;

/// Writes shard, index, report, receipt, in this order: who finds a receipt finds the rest. Memory: some
/// 16 MiB of rows, twice 8 MiB of what they refer to, a few members, and what the store's upload holds.
/// \error kInvalidArgument  more rejects than `context.max_rejects`
/// \error kDataLoss         the sorted rows are damaged
/// \error kCancelled
Result<ShardReceipt> write_shard(const TaskContext& context, const Arrangement& arrangement,
                                 const ShardTask& task, const ShardProgress& progress = {});

}  // namespace headrace

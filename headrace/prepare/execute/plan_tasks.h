#pragma once

/// \file The tasks of a plan, as one process executes them, alone or beside others. Tasks have numbers: first
/// those that read a slice, then those that write a shard. How many write is known only when all slices are
/// read.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "headrace/prepare/write/publish.h"

namespace headrace {

enum class OtherProcesses : std::uint8_t {
  /// Rows may stay in memory, and results of reading stay with the process; the store is asked only for the
  /// results of an earlier run.
  kNone,
  /// Rows are written as work objects, and the store shows which tasks are done.
  kMayJoin
};

struct PlanTasksOptions {
  OtherProcesses others = OtherProcesses::kNone;
  RejectLimit max_rejects{};
  Actor actor{};
  /// For a process that is alone: how it claims the output once the input has been read.
  PlanClaim claim{};
  /// For other processes: the output, which is claimed already.
  std::optional<OwnedOutput> owned{};
};

/// `read` and `write` may run at once, for different tasks, while no other function runs.
class PlanTasks {
 public:
  PlanTasks(const TaskContext& context, const PlanTasksOptions& options);

  bool is_alone() const { return options_.others == OtherProcesses::kNone; }
  const TaskContext& context() const { return context_; }
  const PlanTasksOptions& options() const { return options_; }
  std::uint64_t read_tasks() const { return slices_.size(); }

  /// Called with the bytes (of a slice) or rows (of a shard) since the last call, and with how many of those
  /// rows were rejected.
  using Progress = std::function<void(std::uint64_t done, std::uint64_t rejected)>;

  /// The slices that are not read yet, ascending. Cost: a list, or none if the process is alone.
  Result<std::vector<std::uint64_t>> unread();
  /// Reads a slice, unless it was read before.
  /// \error as extract_slice
  Status read(std::uint64_t slice, const Progress& progress);

  /// Arranges the result of all slices, once. Valid as long as this object. Cost: a read for each slice that
  /// others have read.
  /// \error kFailedPrecondition  some slices are unread: says how many
  /// \error as arrange
  Result<const Arrangement*> arrange();
  /// Arranges. If the process is alone and there is something to write, claims the output for the plan, or
  /// joins a process that has done so meanwhile.
  /// \error kAborted  somebody else has begun something there meanwhile
  Status begin_writing();
  /// Whether the output is claimed for the plan.
  bool has_begun() const { return owned_.has_value(); }

  /// The shards that are not written yet, ascending. Cost: a list, or none if the process is alone. REQUIRES:
  /// arranged
  Result<std::vector<std::uint64_t>> unwritten() const;
  /// Writes a shard, unless it was written before. REQUIRES: arranged
  /// \error as write_shard
  Status write(std::uint64_t shard, const Progress& progress);

  /// Executes the task of this number, unless it was done before.
  /// \error kFailedPrecondition  the task writes a shard, and some slices are unread
  /// \error kOutOfRange          there is no such task
  Status execute(std::uint64_t task);

  /// Publishes the result of all tasks, unless it was published before.
  /// \error kFailedPrecondition  a task is not done: says which
  /// \error kAborted             somebody else owns the output now: names them
  Result<PrepareResult> publish();

  /// Returns `done`, but success if a task failed while another process published the dataset: that process
  /// removes the work objects that others still need.
  Status unless_published(Status done) const;

 private:
  Result<OwnedOutput> claim_or_join() const;

  Result<std::vector<ShardReceipt>> shard_receipts() const;
  Result<PrepareResult> publish_receipts();

  TaskContext context_;
  const PlanTasksOptions options_;
  std::optional<OwnedOutput> owned_;
  bool are_all_read_ = false;
  std::vector<std::optional<SliceReceipt>> slices_;  // read by this process
  std::optional<Arrangement> arrangement_;
  std::vector<ShardTask> shard_tasks_;
  std::vector<std::optional<ShardReceipt>> shards_;  // written or found by this process
  std::atomic<std::uint64_t> found_shards_{0};
};

}  // namespace headrace

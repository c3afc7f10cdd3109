#pragma once

/// \file The tasks of a plan, as one process executes them, alone or beside others. Tasks have numbers: first
/// those that read a slice, then those that write a shard; how many of these is known once all slices are
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
  /// Rows may stay in memory, and what a task has found stays with the process; the store is asked only for
  /// what an earlier run left.
  kNone,
  /// Rows are work objects, and the store says which tasks are done.
  kMayJoin
};

struct PlanTasksOptions {
  OtherProcesses others = OtherProcesses::kNone;
  RejectLimit max_rejects{};
  /// Of a process that is alone: what is published goes once the input has been read.
  bool overwrite = false;
};

/// `read`, `write` and `execute` may be called at once, of different tasks, and as long as nothing else is.
class PlanTasks {
 public:
  PlanTasks(const TaskContext& context, const PlanTasksOptions& options);

  bool is_alone() const { return options_.others == OtherProcesses::kNone; }
  const TaskContext& context() const { return context_; }
  const PlanTasksOptions& options() const { return options_; }
  std::uint64_t read_tasks() const { return slices_.size(); }

  /// Is told of bytes (of a slice) or rows (of a shard) since it was told last, and of those rows that were
  /// rejected.
  using Progress = std::function<void(std::uint64_t done, std::uint64_t rejected)>;

  /// The slices that are not read yet, ascending. Cost: a list; none if alone.
  Result<std::vector<std::uint64_t>> unread();
  /// Reads a slice, or finds that it was read.
  /// \error as extract_slice
  Status read(std::uint64_t slice, const Progress& progress);

  /// What follows from all slices; arranged once. Valid as long as this. Cost: a read for each slice that
  /// others have read.
  /// \error kFailedPrecondition  slices are unread: says how many
  /// \error as arrange
  Result<const Arrangement*> arrange();
  /// Arranges. If alone, and there is something to write, makes the output the plan's own.
  Status begin_writing();
  /// Whether the output is the plan's own.
  bool has_begun() const { return has_begun_; }

  /// The shards that are not written yet, ascending. Cost: a list; none if alone. REQUIRES: arranged
  Result<std::vector<std::uint64_t>> unwritten() const;
  /// Writes a shard, or finds that it was written. REQUIRES: arranged
  /// \error as write_shard
  Status write(std::uint64_t shard, const Progress& progress);

  /// The task of this number, or finds that it was done.
  /// \error kFailedPrecondition  a shard's, and slices are unread
  /// \error kOutOfRange          there is no such task
  Status execute(std::uint64_t task);

  /// Publishes what the tasks made, or finds that it was published.
  /// \error kFailedPrecondition  tasks are not done: says which
  Result<PrepareResult> publish(std::string_view run_id);

  /// `done`, or success if the data set has been published meanwhile: who publishes removes what others need
  /// that are still at it.
  Status unless_published(Status done) const;

 private:
  Result<std::vector<ShardReceipt>> shard_receipts() const;
  Result<PrepareResult> publish_receipts(std::string_view run_id);

  TaskContext context_;
  const PlanTasksOptions options_;
  bool has_begun_;
  bool are_all_read_ = false;
  std::vector<std::optional<SliceReceipt>> slices_;  // that this process has read
  std::optional<Arrangement> arrangement_;
  std::vector<ShardTask> shard_tasks_;
  std::vector<std::optional<ShardReceipt>> shards_;  // that this process has written, or found
  std::atomic<std::uint64_t> found_shards_{0};
};

}  // namespace headrace

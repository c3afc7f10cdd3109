#pragma once

/// \file The tasks of a plan, as one process executes them, alone or together with other processes. Tasks are
/// numbered: first those that read a slice, then those that write a shard. The number of the latter is known
/// only when all slices have been read.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "headrace/prepare/write/publish.h"

namespace headrace {

enum class OtherProcesses : std::uint8_t {
  /// Rows may stay in memory, and results of reading stay in the process. The store is only asked for the
  /// results of an earlier run.
  kNone,
  /// Rows are written as work objects, and the store shows which tasks are done.
  kMayJoin
};

struct PlanTasksOptions {
  OtherProcesses others = OtherProcesses::kNone;
  RejectLimit max_rejects{};
  Actor actor{};
  /// For a process that is alone: how it claims the output after the input has been read.
  PlanClaim claim{};
  /// With other processes: the output, which is already claimed.
  std::optional<OwnedOutput> owned{};
};

/// `read` and `write` may run at the same time, for different tasks, while no other function runs. Otherwise
/// not thread-safe.
class PlanTasks {
 public:
  PlanTasks(const TaskContext& context, const PlanTasksOptions& options);

  bool is_alone() const { return options_.others == OtherProcesses::kNone; }
  const TaskContext& context() const { return context_; }
  const PlanTasksOptions& options() const { return options_; }
  std::uint64_t read_tasks() const { return slices_.size(); }

  /// Called with the number of bytes (of a slice) or rows (of a shard) since the last call, and with the
  /// number of rejected rows among them.
  using Progress = std::function<void(std::uint64_t done, std::uint64_t rejected)>;

  /// The slices that have not been read yet, ascending. Cost: a list, or nothing if the process is alone.
  Result<std::vector<std::uint64_t>> unread();
  /// Reads a slice, unless it was read before.
  /// \error as extract_slice
  Status read(std::uint64_t slice, const Progress& progress);

  /// Arranges the results of all slices, once. The result is valid as long as this object. Cost: a read for
  /// each slice that other processes have read.
  /// \error kFailedPrecondition  some slices are unread; says how many
  /// \error kAborted             the receipt of a slice has disappeared: the dataset was published or
  ///                             overwritten meanwhile
  /// \error as arrange
  Result<const Arrangement*> arrange();
  /// Arranges. If there is something to write and the output is not claimed yet, claims it for the plan, or
  /// joins a process that has claimed it for the same plan meanwhile.
  /// \error kAborted  another process has begun something there meanwhile
  Status begin_writing();
  /// True if the output is claimed for the plan.
  bool has_begun() const { return owned_.has_value(); }

  /// The shards that have not been written yet, ascending. Cost: a list, or nothing if the process is alone.
  /// REQUIRES: `arrange` has succeeded
  Result<std::vector<std::uint64_t>> unwritten() const;
  /// Writes a shard, unless it was written before. REQUIRES: `arrange` has succeeded
  /// \error as write_shard
  Status write(std::uint64_t shard, const Progress& progress);

  /// Executes the task with this number, unless it was done before.
  /// \error kFailedPrecondition  the task writes a shard, and some slices are unread
  /// \error kOutOfRange          there is no such task
  /// \error as read, arrange and write
  Status execute(std::uint64_t task);

  /// Publishes the result of all tasks, unless it was published before.
  /// \error kFailedPrecondition  a task is not done; says which
  /// \error kAborted             another process owns the output now; names it
  Result<PrepareResult> publish();

  /// Returns `done`, or success if a task failed after another process had published the dataset: publishing
  /// removes the work objects that other processes still need.
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

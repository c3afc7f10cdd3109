#pragma once

/// \file The end of the stage: compares the receipts with the rows that were read, and creates the manifest.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/prepare/write/shard_writer.h"
#include "headrace/track/stage_output.h"

namespace headrace {

struct PrepareResult {
  std::uint64_t manifest_number = 0;
  std::string manifest_digest;  // SHA-256 (hex) of the manifest
  DatasetAttributes attributes;
  std::uint64_t shards = 0;
  std::uint64_t shards_done_before = 0;  // by an earlier, interrupted run of the same plan
  std::uint64_t row_bytes = 0;
  std::uint64_t shard_bytes = 0;
  bool was_published = false;  // it was finished before, so this run did nothing
};

/// The objects that the stage leaves in its output.
StageOutput prepare_output();

/// Claims the output for the plan: see claim_output. A plan that continues a dataset replaces the plan before
/// it.
Status begin_output(const Location& output, const PreparePlan& plan, bool overwrite);

/// The result, if this plan was already published; else none. Removes the work objects that remain if the
/// publishing process died before it removed them.
/// \error kFailedPrecondition  a dataset of another plan is published there, which is not this plan's base
Result<std::optional<PrepareResult>> find_published(const TaskContext& context);

/// Whether a plan that continues a dataset has found nothing to do.
bool has_nothing_new(const PreparePlan& plan, const Arrangement& arrangement);
/// The result if there is nothing to do: the published base. Keeps work objects, for others with the same
/// plan.
Result<PrepareResult> leave_base(const TaskContext& context);

/// Publishes the dataset. `receipts` are those of `arrangement.tasks()`, in their order.
/// \error kInvalidArgument  more rejects than allowed
/// \error kInternal         rows are missing; nothing is published
/// \error kAlreadyExists    another process has published meanwhile
Result<PrepareResult> publish(const TaskContext& context, const Arrangement& arrangement,
                              std::span<const ShardReceipt> receipts, const RejectLimit& max_rejects,
                              std::string_view run_id);

/// Removes all work objects below the output, of every plan.
Status remove_work(const Location& output);

}  // namespace headrace

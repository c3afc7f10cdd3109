#pragma once

/// \file The end of the stage: compares the receipts with the rows that were read, and creates the manifest.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/prepare/write/plan_claim.h"
#include "headrace/prepare/write/shard_writer.h"

namespace headrace {

struct PrepareResult {
  std::uint64_t manifest_number = 0;
  std::string manifest_digest;  // SHA-256 (hex) of the manifest
  DatasetAttributes attributes;
  std::uint64_t shards = 0;
  std::uint64_t shards_done_before = 0;  // written by an earlier, interrupted run of the same plan
  std::uint64_t row_bytes = 0;
  std::uint64_t shard_bytes = 0;
  bool was_published = false;  // it was already published; this run did nothing
};

/// The result of this plan, which manifest `number` publishes. If the publishing process died before it had
/// cleaned up, removes work objects of the plan, and what an overwritten generation has left.
/// \error kFailedPrecondition  the manifest belongs to another plan
/// \error kAborted             the manifest was removed meanwhile
Result<PrepareResult> read_result(const TaskContext& context, std::uint64_t number);

/// The same, if the plan was published under `context.entry`; otherwise nullopt.
/// \error kAborted  another process owns the output now; names it
Result<std::optional<PrepareResult>> find_published(const TaskContext& context);

/// True if a plan that continues a dataset has found nothing to do.
bool has_nothing_new(const PreparePlan& plan, const Arrangement& arrangement);
/// The result if there is nothing to do: that of the published base. Keeps work objects, for other processes
/// with the same plan.
Result<PrepareResult> leave_base(const TaskContext& context);

/// Publishes the dataset. `receipts` are those of `arrangement.tasks()`, in their order. If a plan
/// that retries has found every row rejected again, publishes nothing, and returns the result of the base.
/// REQUIRES: not has_nothing_new(context.plan, arrangement)
/// \error kInvalidArgument  more rows are rejected than allowed
/// \error kInternal         rows are missing; nothing is published
/// \error kAborted          another process owns the output now (names it); nothing was published
Result<PrepareResult> publish(const TaskContext& context, const Arrangement& arrangement,
                              std::span<const ShardReceipt> receipts, const RejectLimit& max_rejects,
                              Ownership& ownership, std::string_view run_id);

}  // namespace headrace

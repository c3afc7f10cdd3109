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
  std::uint64_t shards_done_before = 0;  // by an earlier, interrupted run of the same plan
  std::uint64_t row_bytes = 0;
  std::uint64_t shard_bytes = 0;
  bool was_published = false;  // it was finished before, so this run did nothing
};

/// The result of this plan, which manifest `number` publishes. Removes what remains if the publishing process
/// died before it had removed it: work objects of the plan, and what an overwritten generation has left.
/// \error kFailedPrecondition  it is of another plan
/// \error kAborted             it was removed meanwhile
Result<PrepareResult> read_result(const TaskContext& context, std::uint64_t number);

/// The same, if the plan was published under `context.entry`; else none.
/// \error kAborted  somebody else owns the output now: names them
Result<std::optional<PrepareResult>> find_published(const TaskContext& context);

/// Whether a plan that continues a dataset has found nothing to do.
bool has_nothing_new(const PreparePlan& plan, const Arrangement& arrangement);
/// The result if there is nothing to do: the published base. Keeps work objects, for others with the same
/// plan.
Result<PrepareResult> leave_base(const TaskContext& context);

/// Publishes the dataset, which has something new. `receipts` are those of `arrangement.tasks()`, in their
/// order.
/// \error kInvalidArgument  more rejects than allowed
/// \error kInternal         rows are missing; nothing is published
/// \error kAborted          somebody else owns the output now: names them; nothing was published
Result<PrepareResult> publish(const TaskContext& context, const Arrangement& arrangement,
                              std::span<const ShardReceipt> receipts, const RejectLimit& max_rejects,
                              Ownership& ownership, std::string_view run_id);

}  // namespace headrace

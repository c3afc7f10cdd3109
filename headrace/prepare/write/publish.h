#pragma once

/// \file The end of the stage: receipts are compared with what was read, and the manifest is created.

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
  bool was_published = false;  // it had been finished before: nothing was done
};

/// What the stage leaves in its output.
StageOutput prepare_output();

/// Makes the output the plan's own: see claim_output. A plan that continues takes the place of the one
/// before.
Status begin_output(const Location& output, const PreparePlan& plan, bool overwrite);

/// What a process that got as far as publishing made; none if none did. Removes the work objects of one that
/// died then.
/// \error kFailedPrecondition  a data set of another plan is published there, which is not the plan's base
Result<std::optional<PrepareResult>> find_published(const TaskContext& context);

/// Whether a plan that continues has found nothing to do.
bool has_nothing_new(const PreparePlan& plan, const Arrangement& arrangement);
/// Then: what is published already. Work objects stay, for others that look at the same plan.
Result<PrepareResult> leave_base(const TaskContext& context);

/// `receipts` are of `arrangement.tasks()`, in their order.
/// \error kInvalidArgument  more rejects than allowed
/// \error kInternal         rows are missing: nothing is published
/// \error kAlreadyExists    another process has published meanwhile
Result<PrepareResult> publish(const TaskContext& context, const Arrangement& arrangement,
                              std::span<const ShardReceipt> receipts, const RejectLimit& max_rejects,
                              std::string_view run_id);

/// All work objects below the output, of any plan.
Status remove_work(const Location& output);

}  // namespace headrace

#pragma once

/// \file The first kind of task: reads a slice of the input, settles where each row belongs, and keeps the
/// rows sorted for those who write shards.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headrace/prepare/extract/slice_receipt.h"
#include "headrace/prepare/extract/task_context.h"

namespace headrace {

/// Reads slice number `slice`, or finds the receipt of who did. `progress` is told bytes that were read since
/// it was told last. Memory: some three times `kRunBytes`.
/// \error kInvalidArgument     more rejects than allowed: names the first
/// \error kFailedPrecondition  the input is not what the plan says
/// \error kCancelled
Result<SliceReceipt> extract_slice(const TaskContext& context, std::uint64_t slice,
                                   const std::function<void(std::uint64_t)>& progress);

/// Writes what the base has of each slice, for other processes that read it.
Status write_pasts(const PreparePlan& plan, const Location& work);

/// The receipt of who read a slice; none if nobody did, or with its rows in memory.
Result<std::optional<SliceReceipt>> find_slice(const TaskContext& context, std::uint64_t slice);

/// The slices that have no receipt, ascending. Cost: a list.
Result<std::vector<std::uint64_t>> unread_slices_of(const TaskContext& context);

/// Rows are sorted, and written as one object, as soon as so many bytes of them have come together.
inline constexpr std::uint64_t kRunBytes = 32 << 20;

/// Of a slice, in the work folder.
std::string slice_report_name(std::uint64_t slice);
std::string slice_inputs_name(std::uint64_t slice);

}  // namespace headrace

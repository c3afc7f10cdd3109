#pragma once

/// \file The first kind of task: reads a slice of the input, decides where each row belongs, and keeps the
/// sorted rows for the tasks that write shards.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headrace/prepare/extract/slice_receipt.h"
#include "headrace/prepare/extract/task_context.h"

namespace headrace {

/// Reads slice number `slice`; if it was read before, returns its receipt. Calls `progress` with the number
/// of bytes read since the last call. Memory: some three times `kRunBytes`.
/// \error kInvalidArgument     more rows are rejected than allowed; names the first one
/// \error kFailedPrecondition  the input is not as the plan says
/// \error kCancelled           `context.stop` was requested
/// \error of the store         an object to which a row refers cannot be read now: reference_reader.h
Result<SliceReceipt> extract_slice(const TaskContext& context, std::uint64_t slice,
                                   const std::function<void(std::uint64_t)>& progress);

/// Writes the base's record of each slice to the work folder, for the other processes.
/// \error kInvalidArgument  a record is too large; says what to do
Status write_pasts(const PreparePlan& plan, const Location& work);

/// The receipt of a slice; nullopt if it was not read yet, or its rows are only in the reader's memory.
Result<std::optional<SliceReceipt>> find_slice(const TaskContext& context, std::uint64_t slice);

/// The slices without a receipt, ascending. Cost: a list.
Result<std::vector<std::uint64_t>> unread_slices_of(const TaskContext& context);

/// Rows are sorted and written as one object as soon as they have this many bytes.
inline constexpr std::uint64_t kRunBytes = 32 << 20;

/// Names of a slice's objects in the work folder.
std::string slice_report_name(std::uint64_t slice);
std::string slice_inputs_name(std::uint64_t slice);

}  // namespace headrace

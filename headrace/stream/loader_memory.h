#pragma once

/// \file Divides a loader's memory budget: docs/data-loader.md, "Memory".

#include <memory>
#include <vector>

#include "headrace/stream/batch_plan.h"
#include "headrace/stream/loader.h"
#include "headrace/stream/pipeline.h"

namespace headrace {

/// The numbers of threads and of batches made ahead, and the other limits, for which the budget has room.
/// \error kResourceExhausted  the budget is smaller than the memory that must be held at once; the message
///                            says how much that is
Result<Pipeline::Sizes> divide_memory(const std::vector<std::unique_ptr<Source>>& sources,
                                      const BatchPlan& plan, const LoaderOptions& options);

/// Exact order needs the place of each record in memory. Checks the budget before the places are read.
/// \error kResourceExhausted  the places alone take more memory than the budget
Status check_index_memory(const std::vector<LoaderSource>& sources, const LoaderOptions& options);

}  // namespace headrace

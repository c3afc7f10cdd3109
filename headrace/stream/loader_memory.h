#pragma once

/// \file What a loader's memory budget is divided into: docs/data-loader.md, "Memory".

#include <memory>
#include <vector>

#include "headrace/stream/batch_plan.h"
#include "headrace/stream/loader.h"
#include "headrace/stream/pipeline.h"

namespace headrace {

/// Threads and batches ahead, as many as the budget has room for.
/// \error kResourceExhausted  it is smaller than what must be held at once; the message says how much that is
Result<Pipeline::Sizes> divide_memory(const std::vector<std::unique_ptr<Source>>& sources,
                                      const BatchPlan& plan, const LoaderOptions& options);

/// Exact order needs to know where each record lies; to be checked before that is read.
/// \error kResourceExhausted  that alone is more than the budget
Status check_index_memory(const std::vector<LoaderSource>& sources, const LoaderOptions& options);

}  // namespace headrace

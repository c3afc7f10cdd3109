#pragma once

/// \file Bounded parallel work on a fixed number of threads.

#include <cstddef>
#include <functional>

#include "headrace/base/result.h"

namespace headrace {

/// Calls `task(i)` for every i in [0, count), at most `threads` at once, lower indices started first. After
/// an error no further index is started; returns the error of the lowest index that failed. `threads` < 2
/// runs all in the calling thread.
Status parallel_for(int threads, std::size_t count, const std::function<Status(std::size_t)>& task);

}  // namespace headrace

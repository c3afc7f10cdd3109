#pragma once

/// \file Parallel work on a fixed number of threads.

#include <cstddef>
#include <functional>

#include "headrace/base/result.h"

namespace headrace {

/// Calls `task(i)` for every i in [0, count), at most `threads` calls at once, lower indices first. Blocks
/// until all calls have ended. The calling thread takes part; if `threads` < 2, it makes all calls. If the
/// system refuses threads, it continues with fewer. After an error no further calls begin, and the error of
/// the lowest failed index is returned.
/// \error kResourceExhausted  `task` threw std::bad_alloc
/// \error                     as for `task`
Status parallel_for(int threads, std::size_t count, const std::function<Status(std::size_t)>& task);

/// The number of cores that the calling thread may run on, at least 1.
int available_cores();

/// Raises the nice value of the calling thread to 10, unless it is higher, so that the thread mostly takes
/// processor time that no other thread wants. This cannot be undone.
void lower_thread_priority();

}  // namespace headrace

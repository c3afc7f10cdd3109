#pragma once

/// \file Bounded parallel work on a fixed number of threads.

#include <cstddef>
#include <functional>

#include "headrace/base/result.h"

namespace headrace {

/// Calls `task(i)` for every i in [0, count), at most `threads` at once, lower indices started first. After
/// an error no further index is started; returns the error of the lowest index that failed. `threads` < 2
/// runs all in the calling thread, which also goes on alone or with fewer where the system refuses threads.
/// \error what `task` returns; kResourceExhausted if it threw std::bad_alloc
Status parallel_for(int threads, std::size_t count, const std::function<Status(std::size_t)>& task);

/// Cores that this process may run on, at least 1.
int available_cores();

/// From now on, this thread mostly takes processor time that no other thread wants: a nice value of 10,
/// unless it has a higher one. There is no way back.
void lower_thread_priority();

}  // namespace headrace

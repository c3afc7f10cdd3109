#include "headrace/os/parallel.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace headrace {
namespace {

Status call(const std::function<Status(std::size_t)>& task, std::size_t index) {
  try {
    return task(index);
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted,
                 "there is not enough memory; run fewer tasks at a time, or allow more memory"};
  }
}

}  // namespace

Status parallel_for(int threads, std::size_t count, const std::function<Status(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t failed_index = count;
  Status first_failure;

  const auto work = [&] {
    while (true) {
      const std::size_t index = next.fetch_add(1);
      if (index >= count) return;
      Status status = call(task, index);
      if (status) continue;
      next.store(count);
      const std::lock_guard lock(mutex);
      if (index < failed_index) failed_index = index, first_failure = std::move(status);
    }
  };

  std::vector<std::jthread> helpers;
  try {
    for (std::size_t i = 1; i < std::min<std::size_t>(std::max(threads, 1), count); ++i)
      helpers.emplace_back(work);
  } catch (const std::exception&) {
    // The system allows no further thread. The existing threads, at least this one, do the work.
  }
  work();
  helpers.clear();
  return first_failure;
}

void lower_thread_priority() {
  constexpr int kNice = 10;
  if (getpriority(PRIO_PROCESS, 0) >= kNice) return;  // 0 is this thread, on Linux
  (void)setpriority(PRIO_PROCESS, 0, kNice);          // if this is refused, the thread keeps its priority
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(CPU_COUNT(&set), 1) : 1;
}

}  // namespace headrace

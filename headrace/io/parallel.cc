#include "headrace/io/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace headrace {

Status parallel_for(int threads, std::size_t count, const std::function<Status(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t failed_index = count;
  Status first_failure;

  const auto work = [&] {
    while (true) {
      const std::size_t index = next.fetch_add(1);
      if (index >= count) return;
      Status status = task(index);
      if (status) continue;
      next.store(count);
      const std::lock_guard lock(mutex);
      if (index < failed_index) failed_index = index, first_failure = std::move(status);
    }
  };

  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min<std::size_t>(std::max(threads, 1), count); ++i)
    helpers.emplace_back(work);
  work();
  helpers.clear();
  return first_failure;
}

}  // namespace headrace

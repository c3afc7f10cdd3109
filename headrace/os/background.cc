#include "headrace/os/background.h"

#include <exception>
#include <system_error>

namespace headrace {

Background::~Background() {
  {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Background::add(std::function<void()> task) {
  const std::scoped_lock lock(mutex_);
  if (has_ended_) return;
  tasks_.push_back(std::move(task));
  start_thread();
  changed_.notify_one();
}

void Background::add_at(Clock::time_point time, std::function<void()> task) {
  const std::scoped_lock lock(mutex_);
  if (has_ended_) return;
  later_.emplace(time, std::move(task));
  start_thread();
  changed_.notify_all();  // wakes a thread that waits for a later time
}

// REQUIRES: mutex_ is held
void Background::start_thread() {
  const bool are_enough = idle_ > static_cast<int>(tasks_.size());
  if (are_enough || static_cast<int>(threads_.size()) >= most_threads_) return;
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The existing threads run the task later.
  }
}

void Background::work() {
  std::unique_lock lock(mutex_);
  while (!has_ended_) {
    std::function<void()> task;
    if (!later_.empty() && later_.begin()->first <= Clock::now()) {
      task = std::move(later_.extract(later_.begin()).mapped());
    } else if (!tasks_.empty()) {
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    if (task) {
      lock.unlock();
      run(std::move(task));
      lock.lock();
      continue;
    }
    ++idle_;
    if (later_.empty()) {
      changed_.wait(lock);
    } else {
      const Clock::time_point until = later_.begin()->first;  // another thread may take this task meanwhile
      changed_.wait_until(lock, until);
    }
    --idle_;
  }
}

// Runs and destroys the task without holding the mutex.
void Background::run(std::function<void()> task) {
  try {
    task();
  } catch (const std::exception&) {
    // Out of memory. A caller that waits for the result has been told, or does the work itself.
  }
}

}  // namespace headrace

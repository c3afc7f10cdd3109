#pragma once

/// \file Threads that answer requests, so that those which read sockets never wait.

#include <atomic>
#include <functional>
#include <utility>

#include "headrace/os/background.h"

namespace headrace {

/// Thread-safe. Destruction waits for work that runs, and drops the rest.
class RequestWorkers {
 public:
  RequestWorkers(int threads, int most_waiting) : most_(threads + most_waiting), background_(threads) {}

  /// False if so many requests wait already; then `work` is not called.
  bool add(std::function<void()> work) {
    if (count_.fetch_add(1) >= most_) {
      count_.fetch_sub(1);
      return false;
    }
    background_.add([this, work = std::move(work)] {
      const Place place(count_);
      work();
    });
    return true;
  }

 private:
  // Is given back even if the work throws: memory may run out.
  class Place {
   public:
    explicit Place(std::atomic<int>& count) : count_(count) {}
    ~Place() { count_.fetch_sub(1); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    std::atomic<int>& count_;
  };

  const int most_;
  std::atomic<int> count_ = 0;  // that run or wait
  Background background_;
};

}  // namespace headrace

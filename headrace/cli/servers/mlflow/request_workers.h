#pragma once

/// \file Threads that answer requests, so that the threads that read sockets never wait.

#include <atomic>
#include <functional>
#include <utility>

#include "headrace/os/background.h"

namespace headrace {

/// A pool of threads with a bounded queue. Thread-safe. Destruction waits for running work and drops waiting
/// work.
class RequestWorkers {
 public:
  RequestWorkers(int threads, int most_waiting) : most_(threads + most_waiting), background_(threads) {}

  /// Runs `work` in one of the threads. Returns false, and does not call `work`, if the queue is full.
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
  // The place is released even if the work throws, because memory may run out.
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
  std::atomic<int> count_ = 0;  // work that runs or waits
  Background background_;
};

}  // namespace headrace

#pragma once

/// \file Functions that the C++ programs of bench/ share: timing some work again and again. Their scripts pin
/// them to a core.

#include <time.h>

#include "headrace/base/json.h"

namespace headrace {

inline double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Seconds of each repeat: of the process (user and system, all threads) and of the wall's clock.
class Repeats {
 public:
  /// Does `work` once more, and keeps what it took. Returns what it returns.
  template <typename Work>
  auto time(Work&& work) {
    struct Timer {
      Repeats& repeats;
      double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
      ~Timer() {
        repeats.cpu_s_.push_back(seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
        repeats.wall_s_.push_back(seconds(CLOCK_MONOTONIC) - wall);
      }
    } const timer{*this};
    return work();
  }

  Json to_json() const { return {{"cpu_s", cpu_s_}, {"wall_s", wall_s_}}; }

 private:
  std::vector<double> cpu_s_, wall_s_;
};

}  // namespace headrace

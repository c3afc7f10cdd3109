#pragma once

/// \file Runs a program to its end and collects what it says. No shell is involved.

#include <chrono>
#include <cstddef>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

struct ChildLimits {
  std::chrono::milliseconds deadline{60'000};
  /// More standard output than this is an error.
  std::size_t output_bytes_max = 1 << 20;
  /// How much of the end of standard error is kept.
  std::size_t error_tail_bytes = 4096;
  std::stop_token stop{};
};

struct ChildResult {
  /// 128 + the signal's number where a signal ended it, as a shell would say.
  int exit_status = 0;
  std::string output;
  std::string error_tail;
};

/// Starts `arguments[0]` (a path) with this environment, in this process's working folder and in a process
/// group of its own, with no standard input. Blocks until it has ended; none of its group is left running
/// after an error.
/// \error kNotFound  it cannot be started
/// \error kDeadlineExceeded, kCancelled, kResourceExhausted  it was killed: time, `stop`, too much output
Result<ChildResult> run_child(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string, std::less<>>& environment,
                              const ChildLimits& limits);

}  // namespace headrace

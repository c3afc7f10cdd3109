#pragma once

/// \file Runs a program to its end, and collects its output or answers it. No shell is involved.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
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
  /// After `stop` or an error: time between SIGTERM, to the program alone, and SIGKILL, to its group. 0: only
  /// SIGKILL.
  std::chrono::milliseconds grace{0};
};

struct ChildResult {
  /// 128 + the signal's number if a signal ended it, as a shell would say.
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

/// The dialogue between a program and this process. Called in the thread that is in `converse_with_child`.
struct ChildConversation {
  /// A line of standard output, without its end. Returns what to answer on the program's standard input, at
  /// most 64 KiB; empty for nothing. An error ends the program.
  std::function<Result<std::string>(std::string_view line)> on_line;
  /// A line of standard error; long ones come in pieces.
  std::function<void(std::string_view line)> on_error_line;
  /// A longer line of standard output is an error.
  std::size_t line_bytes_max = 16 << 20;
  /// The longest silence on both streams.
  std::chrono::milliseconds silence_max{3'600'000};
};

/// As `run_child`, for a program that runs for long: `limits.deadline` and `output_bytes_max` do not count,
/// and `ChildResult::output` stays empty. When this process ends, so does the program's standard input.
/// \error as `on_line`; and as `run_child`, kDeadlineExceeded meaning silence
Result<ChildResult> converse_with_child(const std::vector<std::string>& arguments,
                                        const std::map<std::string, std::string, std::less<>>& environment,
                                        const ChildLimits& limits, const ChildConversation& conversation);

}  // namespace headrace

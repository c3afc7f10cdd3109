#pragma once

/// \file Runs a program until it ends, and collects its output or answers it. No shell is involved.

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
  /// The longest run time of the program.
  std::chrono::milliseconds deadline{60'000};
  /// More standard output than this is an error.
  std::size_t output_bytes_max = 1 << 20;
  /// How many bytes of the end of standard error are kept.
  std::size_t error_tail_bytes = 4096;
  std::stop_token stop{};
  /// For converse_with_child, after `stop` or an error: the time between SIGTERM, to the program alone, and
  /// SIGKILL, to its process group. 0: only SIGKILL.
  std::chrono::milliseconds grace{0};
};

struct ChildResult {
  /// If a signal ended the program: 128 + the signal's number, as in a shell.
  int exit_status = 0;
  std::string output;
  std::string error_tail;
};

/// Runs the program `arguments[0]` (a path) with this environment, in this process's working folder and in a
/// process group of its own, without standard input. Blocks until the program has ended. After an error, no
/// process of its group is left running.
/// \error kNotFound           the program cannot be started
/// \error kDeadlineExceeded   the program was killed, because it ran for longer than `limits.deadline`
/// \error kCancelled          the program was killed, because a stop was requested on `limits.stop`
/// \error kResourceExhausted  the program was killed, because it wrote too much output; or a pipe cannot be
///                            opened
Result<ChildResult> run_child(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string, std::less<>>& environment,
                              const ChildLimits& limits);

/// The dialogue between a program and this process. Its functions are called on the thread that has called
/// `converse_with_child`.
struct ChildConversation {
  /// Takes a line of standard output, without its end. Returns the text to write to the program's standard
  /// input, at most 64 KiB; empty for none. An error ends the program.
  std::function<Result<std::string>(std::string_view line)> on_line;
  /// Takes a line of standard error. Long lines come in pieces.
  std::function<void(std::string_view line)> on_error_line;
  /// A longer line of standard output is an error.
  std::size_t line_bytes_max = 16 << 20;
  /// The longest time without output on either stream.
  std::chrono::milliseconds silence_max{3'600'000};
};

/// As `run_child`, for a program that runs for long. `limits.deadline` and `limits.output_bytes_max` do not
/// apply, and `ChildResult::output` stays empty. When this process ends, the program's standard input ends.
/// \error kNotFound           the program cannot be started
/// \error kDeadlineExceeded   the program was silent for longer than `conversation.silence_max`
/// \error kCancelled          a stop was requested on `limits.stop`
/// \error kResourceExhausted  a line of standard output was too long, or a pipe cannot be opened
/// \error kInternal           the program does not read its input
/// \error                     as for `on_line`
Result<ChildResult> converse_with_child(const std::vector<std::string>& arguments,
                                        const std::map<std::string, std::string, std::less<>>& environment,
                                        const ChildLimits& limits, const ChildConversation& conversation);

}  // namespace headrace

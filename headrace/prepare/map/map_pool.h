#pragma once

/// \file Processes that run a user's function on rows.

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/os/framed_child.h"

namespace headrace {

struct MapProgram {
  std::string interpreter;     // os/python_program.h
  std::string package_folder;  // likewise
  /// "package.module:function", or "folder/file.py:function".
  std::string function;
  /// How long the function may take for one row.
  std::chrono::milliseconds row_timeout{60'000};
  std::uint64_t cell_limit_bytes = 0;
};

/// Keeps processes for reuse, since their imports may take seconds. Thread-safe.
class MapPool {
 public:
  MapPool(MapProgram program, const Environment& environment, std::stop_token stop);

  /// Returns a process that has loaded the function, for this caller alone: an idle process, or a new one.
  /// \error kInvalidArgument    the function cannot be loaded; quotes the process
  /// \error kFailedPrecondition the process ended, or did not answer for five minutes
  /// \error kNotFound           the interpreter cannot be started
  /// \error kCancelled          `stop` was requested
  Result<std::unique_ptr<FramedChild>> acquire();
  /// Makes a process available to other callers. REQUIRES: it has answered every request
  void give_back(std::unique_ptr<FramedChild> process);

  /// Ends the idle processes, since their imports take memory.
  void end_idle();

  const MapProgram& program() const { return program_; }
  /// The time limit for an answer about rows.
  FrameWait wait() const { return {program_.row_timeout, stop_}; }
  /// The largest frame of answers.
  std::uint64_t frame_limit_bytes() const;

 private:
  Result<std::unique_ptr<FramedChild>> start();

  const MapProgram program_;
  std::vector<std::string> arguments_;
  std::map<std::string, std::string, std::less<>> variables_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<FramedChild>> idle_;
};

/// How long a process that has closed its streams may take to end, so that its exit status can be reported.
inline constexpr std::chrono::milliseconds kMapEndGrace{5'000};

}  // namespace headrace

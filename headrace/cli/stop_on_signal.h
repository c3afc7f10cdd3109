#pragma once

/// \file SIGINT and SIGTERM as a stop token.

#include <stop_token>
#include <thread>

namespace headrace {

/// While one lives, the first SIGINT or SIGTERM stops its source, from a thread of its own, and the second
/// ends the process at once. One at a time in a process.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  const std::stop_source& source() const { return source_; }

 private:
  std::stop_source source_;
  std::thread watcher_;
};

}  // namespace headrace

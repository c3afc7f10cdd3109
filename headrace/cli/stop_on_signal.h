#pragma once

/// \file Turns SIGINT and SIGTERM into a stop request.

#include <stop_token>
#include <thread>

namespace headrace {

/// While an object of this class exists, the first SIGINT or SIGTERM prints a notice to standard error and
/// requests a stop of its source, from a separate thread. The second signal ends the process at once. At most
/// one object at a time in a process.
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

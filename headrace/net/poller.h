#pragma once

/// \file Waits on many sockets at once (on Linux, on any descriptor that can be polled). Another thread can
/// end the wait.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// Not thread-safe, except for `wake`.
class Poller {
 public:
  struct Interest {
    bool read = false;
    bool write = false;
    bool operator==(const Interest&) const = default;
  };
  struct Ready {
    std::uint64_t tag = 0;
    bool readable = false;  // also: closed, broken
    bool writable = false;  // also: broken
  };

  /// \error kResourceExhausted  the system has no descriptor left
  static Result<std::unique_ptr<Poller>> create();

  /// Watches a descriptor, or changes how it is watched. `tag` identifies the descriptor in the result of
  /// `wait`.
  /// \error kResourceExhausted  the system refuses
  Status watch(int fd, Interest interest, std::uint64_t tag);
  /// Stops watching. Call it before the descriptor is closed.
  void forget(int fd);

  /// Blocks until a watched descriptor is ready, `wake` is called, or the time is over. In the latter cases
  /// the list may be empty. It is valid until the next call.
  /// \error kResourceExhausted  the system refuses
  Result<std::span<const Ready>> wait(std::chrono::milliseconds at_most);

  /// Ends the current wait or, if there is none, the next one. May be called from any thread.
  void wake() const;
  ~Poller();

 private:
  struct State;
  explicit Poller(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
  std::vector<Ready> ready_;
};

}  // namespace headrace

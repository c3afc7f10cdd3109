#pragma once

/// \file A store whose calls stop where a test says, as if the process were stalled or killed.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/store/layers/intercepting.h"

namespace headrace {

/// Numbers of a command's calls, counted from 1 in the order in which they begin. 0: never.
struct StallOptions {
  /// This call and every later one wait until they are released. Then they are made.
  std::uint64_t stall_at = 0;
  /// The process dies during this call: the store below makes the call, but its answer is lost. Every later
  /// call fails and does not reach the store.
  std::uint64_t kill_at = 0;
};

/// Controls the calls of one command, in any number of stores. Thread-safe.
class StallControl {
 public:
  explicit StallControl(const StallOptions& options) : options_(options) {}

  /// Blocks until a call is stalled or the command has ended. Returns whether a call was stalled.
  bool wait_for_stall();
  /// Lets the stalled calls and all later ones go on.
  void release();
  /// To be called when the command has ended.
  void end();

  std::uint64_t calls() const;
  bool was_killed() const;
  /// One line for each call: its number, operation and key, and how it ended.
  std::vector<std::string> trace() const;

 private:
  friend class StallingStore;
  Status begin_call(const StoreCall& call, std::uint64_t& number);
  Status end_call(std::uint64_t number, const Status& outcome);

  const StallOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stalled_ = false;
  bool is_released_ = false;
  bool has_ended_ = false;
  bool was_killed_ = false;
  std::vector<std::string> trace_;
};

/// A view of `store` for one command.
std::unique_ptr<Store> make_stalling(std::shared_ptr<Store> store, std::shared_ptr<StallControl> control);

}  // namespace headrace

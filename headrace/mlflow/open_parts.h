#pragma once

/// \file The parts of runs that this process writes, by run.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/mlflow/open_part.h"

namespace headrace::mlflow {

using PartPointer = std::shared_ptr<OpenPart>;

/// The current part of each run, and parts that are being ended. Thread-safe.
class OpenParts {
 public:
  static constexpr std::size_t kMost = 256;  // bound on parts, each of which has two open files
  static constexpr int kMostOpening = 8;     // threads that may wait for one run, so that others stay free

  /// The part of this run; null if there is none. Counts as a use.
  PartPointer find(const std::string& run);
  /// The part of this run. If there is none, or it is sealed, calls `start` to make one. If several threads
  /// open the same run, the others wait for the first, and share its error. Memory for the run is kept for
  /// good.
  /// \error kResourceExhausted  kMostOpening threads already open the run
  /// \error of `start`
  /// REQUIRES: the run exists
  Result<PartPointer> open(const std::string& run, const std::function<Result<PartPointer>()>& start);
  /// Makes this the part of its run.
  void add(PartPointer part);
  /// Adds a part that is about to be ended, without making it the part of its run.
  void add_ending(PartPointer part);
  /// Removes a part. Call it when the part is finished; until then it stays, even if its run has another
  /// part now.
  void forget(const PartPointer& part);
  /// The least recently used parts beyond kMost, which the caller should end.
  std::vector<PartPointer> surplus() const;
  std::vector<PartPointer> all() const;

 private:
  struct Slot {
    std::mutex opening;  // locked before OpenParts::mutex_, which guards the members below
    PartPointer part;
    std::uint64_t used = 0;
    int openers = 0;
    std::uint64_t failures = 0;
    Status last_failure{};
  };

  std::shared_ptr<Slot> slot_of(const std::string& run);
  Result<PartPointer> open_in_turn(Slot& slot, std::uint64_t failures,
                                   const std::function<Result<PartPointer>()>& start);

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Slot>> slots_;
  std::vector<PartPointer> ending_;  // unfinished parts that are not the part of their run
  std::uint64_t clock_ = 0;
};

}  // namespace headrace::mlflow

#pragma once

/// \file The parts that this process writes, by run.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/mlflow/open_part.h"

namespace headrace::mlflow {

using PartPointer = std::shared_ptr<OpenPart>;

/// Thread-safe.
class OpenParts {
 public:
  static constexpr std::size_t kMost = 256;  // each has two open files
  static constexpr int kMostOpening = 8;     // threads for one run: others are left to other runs

  /// Null if there is none. Counts as a use.
  PartPointer find(const std::string& run);
  /// The part of this run; if there is none, or it is sealed, the one that `start` makes. Several threads
  /// that open one run wait for the first, and share its error. A run's place is kept for good, so
  /// REQUIRES: the run is there
  /// \error kResourceExhausted  kMostOpening threads open the run
  Result<PartPointer> open(const std::string& run, const std::function<Result<PartPointer>()>& start);
  void add(PartPointer part);
  /// A part that is ended at once, and takes the place of no other.
  void add_ending(PartPointer part);
  /// It is finished. Until then it stays here, even if another part has taken its place.
  void forget(const PartPointer& part);
  /// The parts that were used longest ago, so many that kMost are left: they are to be ended.
  std::vector<PartPointer> surplus() const;
  std::vector<PartPointer> all() const;

 private:
  struct Slot {
    std::mutex opening;  // taken before OpenParts::mutex_, which guards what follows
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
  std::vector<PartPointer> ending_;  // parts without a place that are not finished
  std::uint64_t clock_ = 0;
};

}  // namespace headrace::mlflow

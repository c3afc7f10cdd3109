#pragma once

/// \file Finds the records at positions of an arranged order, which depends on the records' values.

#include <cstdint>
#include <mutex>
#include <vector>

#include "headrace/stream/source.h"

namespace headrace {

/// Keeps the result for the last requested window. Thread-safe; calls run one after another.
class ArrangedRecords {
 public:
  /// Borrows the source. REQUIRES: the source has this arrangement, and `check_arrangement` accepts it.
  ArrangedRecords(const Source& source, WindowArrangement arrangement, CorruptionPolicy policy)
      : source_(source), arrangement_(std::move(arrangement)), policy_(policy) {}

  /// The record at a position of an epoch. Cost: for a window other than the last, reading its blocks.
  /// Memory: one block at a time, 16 bytes for each record of the window and, in exact order, room for the
  /// window's records.
  /// \error  as for BlockLoader and ValueReader
  Result<SourceRecord> at(std::uint64_t epoch, std::uint64_t position, const CallOptions& call);

 private:
  Status read(std::uint64_t epoch, std::uint64_t number, const CallOptions& call);

  const Source& source_;
  const WindowArrangement arrangement_;
  const CorruptionPolicy policy_;
  std::mutex mutex_;
  std::uint64_t epoch_ = 0;
  std::uint64_t first_position_ = 0;
  std::vector<SourceRecord> records_;  // by position, from `first_position_` on
};

}  // namespace headrace

#pragma once

/// \file The records at positions of an arranged order, which only their values tell.

#include <cstdint>
#include <mutex>
#include <vector>

#include "headrace/stream/source.h"

namespace headrace {

/// Remembers the last window it was asked about. Thread-safe; one reads at a time.
class ArrangedRecords {
 public:
  /// Borrows the source. REQUIRES: the source has this arrangement; check_arrangement
  ArrangedRecords(const Source& source, WindowArrangement arrangement, CorruptionPolicy policy)
      : source_(source), arrangement_(std::move(arrangement)), policy_(policy) {}

  /// Cost: for another window than the last, reading its blocks. Memory: a block at a time, in exact order
  /// room for the window's records, and 16 bytes for each record of the window.
  /// \error as BlockLoader and ValueReader
  Result<SourceRecord> at(std::uint64_t epoch, std::uint64_t position, const CallOptions& call);

 private:
  Status read(std::uint64_t epoch, std::uint64_t number, const CallOptions& call);

  const Source& source_;
  const WindowArrangement arrangement_;
  const CorruptionPolicy policy_;
  std::mutex mutex_;
  std::uint64_t epoch_ = 0;
  std::uint64_t first_position_ = 0;
  std::vector<SourceRecord> records_;  // by position from there on
};

}  // namespace headrace

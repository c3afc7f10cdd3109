#pragma once

/// \file Keeps the sorted spills of slices until shards are written: in memory while they fit, the others as
/// work objects.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "headrace/prepare/sort/kept_spill.h"
#include "headrace/prepare/sort/rows_reader.h"
#include "headrace/store/location.h"

namespace headrace {

/// Thread-safe.
class SpillStore {
 public:
  /// If `memory_bytes` is 0, every spill becomes a work object, which other processes can open, too.
  SpillStore(Location work_folder, std::uint64_t memory_bytes);

  struct Kept {
    KeptSpill spill;
    bool is_in_memory = false;
  };
  /// Keeps a spill under a name. A work object that already has this name and these bytes is not written
  /// again: see write_unless_same.
  Result<Kept> keep(const std::string& name, Bytes bytes);

  /// Opens a spill that this or another process has kept.
  /// \error kNotFound  there is no such spill
  /// \error kDataLoss  the spill is damaged
  Result<std::shared_ptr<const RowsReader>> open(const KeptSpill& spill);

 private:
  const Location work_folder_;
  std::mutex mutex_;
  std::uint64_t memory_left_bytes_;
  std::map<std::string, std::shared_ptr<const RowsReader>> readers_;
};

}  // namespace headrace

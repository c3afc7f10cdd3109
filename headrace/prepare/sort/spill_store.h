#pragma once

/// \file Where the sorted spills of slices lie between reading and writing: in memory as long as they fit,
/// beyond it in work objects.

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
  /// `memory_bytes` 0: every spill becomes a work object, which other processes find too.
  SpillStore(Location work_folder, std::uint64_t memory_bytes);

  struct Kept {
    KeptSpill spill;
    bool is_in_memory = false;
  };
  /// Keeps a spill under a name; of the same name, the same bytes.
  Result<Kept> keep(const std::string& name, Bytes bytes);

  /// What `keep` of this or another process kept.
  /// \error kNotFound, kDataLoss
  Result<std::shared_ptr<const RowsReader>> open(const KeptSpill& spill);

 private:
  const Location work_folder_;
  std::mutex mutex_;
  std::uint64_t memory_left_bytes_;
  std::map<std::string, std::shared_ptr<const RowsReader>> readers_;
};

}  // namespace headrace

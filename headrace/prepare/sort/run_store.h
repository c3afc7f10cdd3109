#pragma once

/// \file Where the sorted runs of slices lie between reading and writing: in memory as long as they fit,
/// beyond it in work objects.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "headrace/prepare/sort/kept_run.h"
#include "headrace/prepare/sort/rows_reader.h"
#include "headrace/store/location.h"

namespace headrace {

/// Thread-safe.
class RunStore {
 public:
  /// `memory_bytes` 0: every run becomes a work object, which other processes find too.
  RunStore(Location work_folder, std::uint64_t memory_bytes);

  struct Kept {
    KeptRun run;
    bool is_in_memory = false;
  };
  /// Keeps a run under a name; of the same name, the same bytes.
  Result<Kept> keep(const std::string& name, Bytes bytes);

  /// What `keep` of this or another process kept.
  /// \error kNotFound, kDataLoss
  Result<std::shared_ptr<const RowsReader>> open(const KeptRun& run);

 private:
  const Location work_folder_;
  std::mutex mutex_;
  std::uint64_t memory_left_bytes_;
  std::map<std::string, std::shared_ptr<const RowsReader>> readers_;
};

}  // namespace headrace

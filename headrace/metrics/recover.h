#pragma once

/// \file Recovers metrics: writes into the store the points that killed processes have left in their
/// journals.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

struct RecoveredLog {
  std::string url;  // of the log; empty if no journal file names it
  std::string folder;
  std::uint64_t segments = 0;  // written, or found there with the same points
  std::uint64_t points = 0;
  Status status{};  // why the other points stay in the journal
};

/// Recovers each journal below the folder `state` whose writer is gone. Returns one result for each. The
/// folder of a journal is removed once all its points are in the store. Several processes may do this at
/// once: a lock gives each journal to one of them. `open` opens the URL of a log.
std::vector<RecoveredLog> recover_metrics(const std::string& state,
                                          const std::function<Result<Location>(const std::string& url)>& open,
                                          const CallOptions& call);

}  // namespace headrace

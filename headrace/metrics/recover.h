#pragma once

/// \file Writes into the store what killed processes have left in their journals of metrics.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

struct RecoveredLog {
  std::string url;  // of the log; empty if no file says so
  std::string folder;
  std::uint64_t segments = 0;  // that were not in the store
  std::uint64_t points = 0;
  Status status{};  // why the rest stays where it is
};

/// One of each journal below `state` whose writer is gone. The folder of one that is in the store is removed.
/// Several processes may do this at once: each journal is one process's. `open` opens the URL of a log.
std::vector<RecoveredLog> recover_metrics(const std::string& state,
                                          const std::function<Result<Location>(const std::string& url)>& open,
                                          const CallOptions& call);

}  // namespace headrace

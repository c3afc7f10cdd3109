#pragma once

/// \file Reads records of runs.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// \error kNotFound  no run of that id below `root`; else as for `parse_run_start`
Result<RunRecord> read_run(const Location& root, std::string_view id, const CallOptions& call = {});

/// Ids of all runs below `root`, oldest first: an id begins with the time. One listing.
Result<std::vector<std::string>> list_run_ids(const Location& root, const CallOptions& call = {});

struct RunList {
  std::vector<RunRecord> runs;  // oldest first
  /// Why a record could not be read, one message each: damage in one hides no other.
  std::vector<std::string> damaged;
};

/// The newest `limit` runs below `root`, read eight at a time.
Result<RunList> list_runs(const Location& root, std::size_t limit, const CallOptions& call = {});

}  // namespace headrace

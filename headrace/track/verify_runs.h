#pragma once

/// \file Reads every object of the records of runs, for `headrace verify`.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

struct BadObject {
  std::string url;
  std::string problem;
};

struct VerifiedObjects {
  std::uint64_t objects = 0;
  std::vector<BadObject> bad;  // in the order of their keys
};

/// Reads and parses all objects of all runs below `root`, of both versions, eight at a time; also those that
/// a reader of an ended run does not need. Entries of the catalog are empty, and are left out.
/// \error of the store, where nothing can be said
Result<VerifiedObjects> verify_runs(const Location& root, const CallOptions& call = {});

}  // namespace headrace

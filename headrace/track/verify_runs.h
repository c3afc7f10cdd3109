#pragma once

/// \file Verifies the records of runs by reading every object, for `headrace verify`.

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

/// Reads and parses all objects of all runs below `root`, of both versions, eight at a time, including
/// objects that readers of an ended run do not need. Skips entries of the catalog, which are empty.
/// \error of the store
Result<VerifiedObjects> verify_runs(const Location& root, const CallOptions& call = {});

}  // namespace headrace

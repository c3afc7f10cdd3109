#pragma once

/// \file Finds shards that another program has left in the folder of a dataset.

#include <string>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// The names of objects directly below `output` that readers with a pattern would take for shards, although
/// `headrace prepare` has not made them. Cost: a list of the objects directly below.
Result<std::vector<std::string>> find_foreign_shards(const Location& output, const CallOptions& call = {});

}  // namespace headrace

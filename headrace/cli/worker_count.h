#pragma once

/// \file The option --workers.

#include "headrace/cli/command.h"
#include "headrace/os/parallel.h"

namespace headrace {

/// The number of threads that --workers gives; 0 means one for each core.
inline int workers_from(const OptionValues& values) {
  const auto workers = static_cast<int>(values.integer("workers"));
  return workers != 0 ? workers : available_cores();
}

}  // namespace headrace

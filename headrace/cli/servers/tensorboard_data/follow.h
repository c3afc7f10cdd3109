#pragma once

/// \file Polls a log folder until a stop is requested.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "headrace/cli/servers/tensorboard_data/segment_runs.h"
#include "headrace/events/log_folder.h"

namespace headrace {

/// Follows event files and metric segments until `stop` is requested. Calls `tell` with a line when the store
/// cannot be reached, and when it can be reached again.
/// \param polls  set to the number of times that the folder was listed
void follow(LogFolder& folder, SegmentRuns& segments, const std::function<void(const std::string&)>& tell,
            std::uint64_t& polls, const std::stop_token& stop);

}  // namespace headrace

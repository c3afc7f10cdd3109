#pragma once

/// \file Polls a log folder until it is told to stop.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "headrace/cli/servers/tensorboard_data/segment_runs.h"
#include "headrace/events/log_folder.h"

namespace headrace {

/// Follows event files, and segments of metrics. Returns when `stop` is stopped. `tell` gets a line when the
/// store cannot be reached, and when it can.
/// \param polls  how often the folder was listed
void follow(LogFolder& folder, SegmentRuns& segments, const std::function<void(const std::string&)>& tell,
            std::uint64_t& polls, const std::stop_token& stop);

}  // namespace headrace

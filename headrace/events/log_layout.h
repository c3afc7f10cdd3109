#pragma once

/// \file Finds the event files in a log folder, and the run and log of each: docs/tensorboard.md. Pure.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/store.h"

namespace headrace {

/// The objects of one log, in reading order. All but the last one are finished.
using LogSegments = std::vector<ObjectInfo>;

/// run → log (the name of its first object) → its segments. The run of files in the folder itself is ".".
using LogLayout = std::map<std::string, std::map<std::string, LogSegments>>;

/// \param folder_prefix  the beginning of the keys of all objects
/// \param objects        in any order; skips objects that are not event files, or whose key breaks the
///                       grammar of keys
LogLayout lay_out_logs(std::string_view folder_prefix, const std::vector<ObjectInfo>& objects);

/// The name of every event file contains this.
inline constexpr std::string_view kEventFileMark = "tfevents";
bool is_event_file(std::string_view key);

}  // namespace headrace

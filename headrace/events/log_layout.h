#pragma once

/// \file Which objects of a log folder are event files, and of which run and log: docs/tensorboard.md. Pure.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/store.h"

namespace headrace {

/// The objects of one log in the order in which they are read: all but the last are finished.
using LogSegments = std::vector<ObjectInfo>;

/// run → log (the name of its first object) → its segments.
using LogLayout = std::map<std::string, std::map<std::string, LogSegments>>;

/// \param folder_prefix  what the keys of all objects begin with
/// \param objects        any order; what is no event file, or breaks the
///                        grammar of keys, is passed over
LogLayout lay_out_logs(std::string_view folder_prefix, const std::vector<ObjectInfo>& objects);

/// Part of the name of every event file.
inline constexpr std::string_view kEventFileMark = "tfevents";
bool is_event_file(std::string_view key);

}  // namespace headrace

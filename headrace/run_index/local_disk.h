#pragma once

/// \file Whether a folder lies on a disk of this machine.

#include <string>

namespace headrace {

/// False for network file systems and FUSE, where locks of files may not hold between machines, and for a
/// folder that cannot be looked at. The name of the kind of file system is not asked for: its number is
/// (statfs(2)).
bool is_on_local_disk(const std::string& folder);

}  // namespace headrace

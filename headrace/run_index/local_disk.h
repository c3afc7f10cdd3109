#pragma once

/// \file Tells whether a folder is on a local disk of this machine.

#include <string>

namespace headrace {

/// Returns false for network file systems and FUSE, where file locks may not hold between machines, and for a
/// folder that cannot be examined. Decides by the number of the file system type (statfs(2)).
bool is_on_local_disk(const std::string& folder);

}  // namespace headrace

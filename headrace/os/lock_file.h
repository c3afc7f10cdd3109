#pragma once

/// \file A file that one process at a time holds, or several share, and that the system lets go when they
/// end.

#include <string>

#include "headrace/os/file_descriptor.h"

namespace headrace {

/// Opens the file at `path`, no link, with open(2)'s `flags`, for this user alone if it is made; and takes
/// flock(2)'s exclusive lock, without waiting. Held until the descriptor is closed, also by a fork's child.
/// Not open: `errno` tells why; EWOULDBLOCK if another holds it, or has just removed the file.
FileDescriptor open_locked(const std::string& path, int flags);

/// The same with flock(2)'s shared lock: any number hold it at once, and none while `open_locked` holds it.
FileDescriptor open_share_locked(const std::string& path, int flags);

}  // namespace headrace

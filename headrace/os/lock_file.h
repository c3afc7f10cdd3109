#pragma once

/// \file Lock files. One process holds the lock, or several share it. The system releases it when they end.

#include <string>

#include "headrace/os/file_descriptor.h"

namespace headrace {

/// Opens the file at `path`, which must not be a symbolic link, with open(2)'s `flags`, and takes flock(2)'s
/// exclusive lock without waiting. A file that is created is for this user alone. The lock is held until all
/// copies of the descriptor are closed, including those of forked children. On failure, the result is not
/// open and `errno` says why: EWOULDBLOCK if another holder has the lock or has just removed the file.
FileDescriptor open_locked(const std::string& path, int flags);

/// As open_locked, but with flock(2)'s shared lock. Any number of holders may share it, but none while an
/// exclusive lock is held.
FileDescriptor open_share_locked(const std::string& path, int flags);

}  // namespace headrace

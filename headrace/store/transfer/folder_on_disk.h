#pragma once

/// \file Facts about two folders to be copied that only the file system knows: links and mounts, which no key
/// shows.

#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// Whether `inner` lies in `outer`, or is the same folder, under any names. For folders of this machine only;
/// `inner` need not exist. A folder inside `outer` that is also mounted elsewhere is not noticed.
/// \error the system's error, if it cannot be found out
Result<bool> lies_in(const Location& inner, const Location& outer);

/// Checks that `from`, whose listing has not shown `name`, really has no such object. It may have one if a
/// part of that name is a symbolic link, because links to folders, and broken links, are not listed. A folder
/// that is not on this machine needs no check.
/// \error kFailedPrecondition  there is such a link; the message names it
/// \error the system's error, if it cannot be found out
Status check_absent(const Location& from, std::string_view name);

}  // namespace headrace

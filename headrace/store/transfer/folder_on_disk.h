#pragma once

/// \file Facts about two folders to be copied that only the file system knows: links and mounts, which keys
/// do not show.

#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// Whether `inner` lies in `outer` or is the same folder, whatever their names are. False unless both are
/// folders on this machine. `inner` need not exist. Does not detect a folder inside `outer` that is also
/// mounted elsewhere.
/// \error kUnknown  the system refused to look at a path
Result<bool> lies_in(const Location& inner, const Location& outer);

/// Checks that `from` really has no object `name`, after its listing has not shown one. It may have one if a
/// part of the name is a symbolic link, because links to folders, and broken links, are not listed. Succeeds
/// if `from` is not on this machine.
/// \error kFailedPrecondition  there is such a link; the message names it
/// \error kUnknown             the system refused to look at a path
Status check_absent(const Location& from, std::string_view name);

}  // namespace headrace

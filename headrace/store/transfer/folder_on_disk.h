#pragma once

/// \file What only the file system tells of two folders to be copied: links and mounts, which no key shows.

#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// Does `inner` lie in `outer`, or is it that folder, by whatever names? Of folders of this machine only;
/// `inner` need not be there. A mount of a folder inside `outer` at another place is not seen.
/// \error what the system says, where it cannot be found out
Result<bool> lies_in(const Location& inner, const Location& outer);

/// Whether `from`, a listing of which has not shown `name`, has no such object: not if a part of that name
/// is a symbolic link, since what lies behind one that leads to a folder, or nowhere just now, is not listed.
/// For a folder that is none of this machine there is nothing to ask.
/// \error kFailedPrecondition  it names the link; what the system says, where it cannot be found out
Status check_absent(const Location& from, std::string_view name);

}  // namespace headrace

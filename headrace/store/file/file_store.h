#pragma once

/// \file Objects as files below a root folder: "file:///data/a" is the file /data/a.
///
/// A write goes to a file without a name (O_TMPFILE), is synced, and is then linked to its name; the folder
/// is synced last. (WriteOptions::is_durable leaves both out.) To replace an object it is linked to a hidden
/// name and renamed. So a killed process leaves nothing, unless it dies between those two calls, or on a file
/// system without O_TMPFILE (NFS), where writes have a hidden name from the start: then
/// `.headrace-write-<16 hex digits>` stays: an unfinished write, whose key is that name, since it does not
/// tell which object it was to become. No object may have a name that begins so. On such a file system the
/// version of a new object may change once, within the write that made it.
///
/// A symbolic link to a file is an object; one to a folder is not listed, so that nothing below it is listed
/// or removed along with the folder it stands in: name it to look into it. Empty folders are not objects and
/// are never listed.
/// `WriteOptions::if_version` is refused with kUnimplemented: POSIX offers no atomic compare-and-rename.

#include <memory>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

/// `root` is an absolute folder; "/" for the store that file:// URLs name. Folders are made when first
/// needed.
std::unique_ptr<Store> make_file_store(std::string root);

}  // namespace headrace

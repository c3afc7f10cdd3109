#pragma once

/// \file Objects as files below a root folder: "file:///data/a" is the file /data/a.
///
/// A write goes to a file without a name (O_TMPFILE), is synced, and is then linked to its name; the folder
/// is synced last. (WriteOptions::is_durable = false leaves both syncs out.) To replace an object, the file
/// is linked to a hidden name and renamed. A killed process therefore leaves nothing, unless it dies between
/// those two calls, or on a file system without O_TMPFILE (NFS), where writes have a hidden name from the
/// start. Then `.headrace-write-<16 hex digits>` stays: an unfinished write whose key is that name, because
/// the name does not say which object it was to become. No object may have a name that begins so. On such a
/// file system the version of a new object may change once, within the write that made it.
///
/// A symbolic link to a file is an object. A symbolic link to a folder is not listed, so nothing below it is
/// listed or removed along with the folder that contains the link; name the link to look into it. Empty
/// folders are not objects and are never listed.
/// `WriteOptions::if_version` is refused with kUnimplemented: POSIX offers no atomic compare-and-rename.

#include <memory>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

/// `root` is an absolute folder; "/" for the store that file:// URLs name. Folders are made when first
/// needed.
std::unique_ptr<Store> make_file_store(std::string root);

}  // namespace headrace

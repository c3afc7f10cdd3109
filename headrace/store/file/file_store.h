#pragma once

/// \file Objects as files below a root folder: "file:///data/a" is the file /data/a.
///
/// A write goes to a file without a name (O_TMPFILE). The file is synced and then linked to its name; the
/// folder is synced last. WriteOptions::is_durable = false leaves out both syncs. To replace an object, the
/// file is linked to a hidden name and renamed.
///
/// A killed process therefore leaves nothing behind, with two exceptions: it dies between the link and the
/// rename, or the file system has no O_TMPFILE (NFS), where writes have a hidden name from the start. Then
/// `.headrace-write-<16 hex digits>` stays. It is an unfinished write whose key is that name, because the
/// name does not say which object was being written. No object may have a name that begins with
/// ".headrace-write-". On a file system without O_TMPFILE, the version of a new object may change once,
/// within the write that made it.
///
/// A symbolic link to a file is an object. A symbolic link to a folder is not listed, so nothing below it is
/// listed or removed along with the folder that contains the link. To list what is below it, name the link
/// itself. Empty folders are not objects and are never listed.
/// `WriteOptions::if_version` is refused with kUnimplemented: POSIX offers no atomic compare-and-rename.

#include <memory>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

/// `root` is an absolute path; file:// URLs use the store with the root "/". Folders are made when they are
/// first needed.
std::unique_ptr<Store> make_file_store(std::string root);

}  // namespace headrace

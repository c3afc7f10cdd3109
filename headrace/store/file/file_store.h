#pragma once

/// \file Objects as files below a root folder: "file:///data/a" is the file /data/a.
///
/// A write goes to a hidden file beside its target, is synced, and then renamed (or linked, where it must not
/// replace); the folder is synced last. A process killed in between leaves such a hidden file, which listings
/// never show. A symbolic link to a file is an object; one to a folder is not listed, so that nothing
/// below it is listed or removed along with the folder it stands in: name it to look into it. Empty folders are not objects and are never listed.
/// `WriteOptions::if_version` is refused with kUnimplemented: POSIX offers no atomic compare-and-rename.

#include <memory>
#include <string>

#include "headrace/store/store.h"

namespace headrace {

/// `root` is an absolute folder; "/" for the store that file:// URLs name. Folders are made when first
/// needed.
std::unique_ptr<Store> make_file_store(std::string root);

}  // namespace headrace

#pragma once

/// \file Lists two folders side by side: the names in either of them.

#include <functional>
#include <optional>
#include <string>

#include "headrace/store/location.h"

namespace headrace {

struct ObjectPair {
  std::string name;  // relative to the folders
  std::optional<ObjectInfo> at_from{};
  std::optional<ObjectInfo> at_to{};
};

struct FolderPairOptions {
  /// Only names that begin with this text, which need not be a folder.
  std::string name_prefix{};
  /// False: `to` is not listed, so that `at_to` is always empty.
  bool lists_to = true;
  CallOptions call{};
};

/// Calls `visit` with every name, in ascending byte order, until `visit` returns false. An object that
/// `visit` writes under a name that it was given is not visited again. Memory: about 100,000 entries, for any
/// number of objects.
/// \error kCancelled  a stop was requested on `options.call.stop`
/// \error             as for Store::list
Status list_folder_pair(const Location& from, const Location& to, const FolderPairOptions& options,
                        const std::function<bool(ObjectPair&&)>& visit);

/// Whether there is any object below `location`. Cost: a listing that ends at the first object.
Result<bool> is_folder(const Location& location, const CallOptions& call);

}  // namespace headrace

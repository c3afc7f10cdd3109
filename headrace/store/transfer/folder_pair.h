#pragma once

/// \file Two folders side by side: the names in either of them.

#include <functional>
#include <optional>
#include <string>

#include "headrace/store/location.h"

namespace headrace {

struct ObjectPair {
  std::string name;  // below the folders
  std::optional<ObjectInfo> at_from{};
  std::optional<ObjectInfo> at_to{};
};

struct FolderPairOptions {
  /// Only names that begin with this text; not a folder.
  std::string name_prefix{};
  /// False: no object of `to` is listed.
  bool lists_to = true;
  CallOptions call{};
};

/// Calls `visit` with every name, in ascending byte order, until it returns false. Objects that `visit`
/// writes under the names that it was given are not visited again. Memory: about 100,000 entries, for any
/// number of objects.
/// \error those of `list`; kCancelled once `call.stop` is stopped
Status list_folder_pair(const Location& from, const Location& to, const FolderPairOptions& options,
                        const std::function<bool(ObjectPair&&)>& visit);

/// Whether anything lies below. One listing that ends at the first object.
Result<bool> is_folder(const Location& location, const CallOptions& call);

}  // namespace headrace

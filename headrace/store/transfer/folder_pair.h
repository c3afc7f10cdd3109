#pragma once

/// \file Two folders side by side: the names that either has.

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
  /// Names that begin with this text; not a folder.
  std::string name_prefix{};
  /// Without: no object of `to` is listed.
  bool lists_to = true;
  CallOptions call{};
};

/// Calls `visit` with every name, in ascending byte order, until it returns false. What `visit` writes under
/// the names that it was given is not met again. Memory: some 100,000 entries, however many there are.
/// \error those of `list`; kCancelled once `call.stop` is stopped
Status list_folder_pair(const Location& from, const Location& to, const FolderPairOptions& options,
                        const std::function<bool(ObjectPair&&)>& visit);

/// Does anything lie below? One listing that ends at the first object.
Result<bool> is_folder(const Location& location, const CallOptions& call);

}  // namespace headrace

#pragma once

/// \file Checks which files an import may copy. A source names the paths of its files, and the author of the
/// source may have named any file that the user can read.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// The objects and folders that an import may copy. Thread-safe.
class AllowedFiles {
 public:
  /// `places`: objects and folders. Everything below a folder is allowed, too.
  explicit AllowedFiles(std::vector<Location> places) : places_(std::move(places)) {}

  /// Whether the place is one of the allowed ones, or lies below one. On this machine, symbolic links are
  /// followed first. In other stores, a path with ".." is never allowed, because a server may follow it.
  bool contains(const Location& place) const;

  struct LocalFolder {
    std::vector<std::string> names{};  // of the allowed objects
    std::uint64_t links_out = 0;       // symbolic links to places that are not allowed
  };
  /// Lists the objects of an allowed folder on this machine, without symbolic links that lead out. A folder
  /// of another store gives an empty result. Cost: one listing.
  Result<LocalFolder> list_local(const Location& folder, const CallOptions& call = {}) const;

  /// Whether an object is a symbolic link on this machine to a place that is not allowed.
  bool leads_out(const Location& object) const;

 private:
  std::vector<Location> places_;
};

}  // namespace headrace

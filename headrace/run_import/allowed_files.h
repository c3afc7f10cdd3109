#pragma once

/// \file Which files an import may copy. A source names the places of its files itself, and whoever wrote the
/// source may have named any place that the user can read.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// Thread-safe.
class AllowedFiles {
 public:
  /// Objects and folders; what lies below a folder is allowed, too.
  explicit AllowedFiles(std::vector<Location> places) : places_(std::move(places)) {}

  /// Whether the place is one of the allowed ones, or lies below one. On this machine, the place counts to
  /// which all symbolic links lead. Elsewhere, no path with ".." is allowed, because a server may follow it.
  bool contains(const Location& place) const;

  struct LocalFolder {
    std::vector<std::string> names{};  // of the allowed objects
    std::uint64_t links_out = 0;       // symbolic links to places that are not allowed
  };
  /// The objects of an allowed folder of this machine; none of another one. One listing.
  Result<LocalFolder> list_local(const Location& folder, const CallOptions& call = {}) const;

  /// Whether an object of an allowed folder is a symbolic link to a place that is not allowed.
  bool leads_out(const Location& object) const;

 private:
  std::vector<Location> places_;
};

}  // namespace headrace

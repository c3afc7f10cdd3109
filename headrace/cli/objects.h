#pragma once

/// \file Functions that the commands for objects share: telling objects from folders, counting, and times for
/// people.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/cli/command.h"
#include "headrace/store/transfer/folder_pair.h"

namespace headrace {

/// The object at a location; none if there is none, or for the root of a store. Cost: one request.
Result<std::optional<ObjectInfo>> find_object(const Location& location, const CallOptions& call);

/// The meaning of a URL on the command line: an object, a folder or a pattern.
struct Named {
  enum class Kind { kObject, kFolder, kPattern, kNothing } kind = Kind::kNothing;
  ObjectInfo object{};
};
/// Looks up `text`, a word of the command line from which `location` was opened. An object or folder with
/// exactly that name takes precedence over a pattern (store/glob.h). If the text ends in '/', objects are
/// ignored. The root of a store is a folder, even if it is empty.
Result<Named> look_up(const Location& location, std::string_view text, const CallOptions& call);

/// Whether a URL on the command line names only folders.
inline bool asks_for_folder(std::string_view text) { return text.ends_with('/'); }

/// Which entries a pattern is to match.
enum class Matched { kObjects, kFolders, kBoth };

/// Calls `visit` for each object or folder that the pattern matches (store/glob.h), until `visit` returns an
/// error.
/// \error kNotFound  nothing matches; as `visit`; kCancelled
Status visit_matches(const Location& pattern, Matched matched, const CallOptions& call,
                     const std::function<Status(const ObjectInfo&)>& visit);

/// The same location with another key.
Location with_key(const Location& location, std::string_view key);

Error nothing_at(const Location& location);
Error nothing_matches(const Location& pattern);

/// The time of the last change, "2026-11-21 03:26:00" (UTC); as many blanks if the store does not tell it.
std::string format_modified(const ObjectInfo& object);

struct Totals {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};
Result<Totals> total_below(const Location& folder, const CallOptions& call);

/// Whether a key is that of an object that publishes a folder: a manifest or an entry of ownership. Such
/// objects are written last and removed first.
bool is_manifest_key(std::string_view key);

/// An error with kCancelled if `stop` was requested. For use in loops.
Status check_stop(const std::stop_token& stop, std::string_view doing);

}  // namespace headrace

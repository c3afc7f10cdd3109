#pragma once

/// \file Functions that the commands over objects share: object or folder, counting, times for people.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/cli/command.h"
#include "headrace/store/transfer/folder_pair.h"

namespace headrace {

/// The object of that name; none if there is none, as for a store's root.
Result<std::optional<ObjectInfo>> find_object(const Location& location, const CallOptions& call);

/// The object, folder or pattern that a URL of the command line names.
struct Named {
  enum class Kind { kObject, kFolder, kPattern, kNothing } kind = Kind::kNothing;
  ObjectInfo object{};
};
/// Looks up `text`, a word of the command line, which `location` was opened from. An object or folder of
/// exactly that name comes before what the name says as a pattern (store/glob.h); an object does not count if
/// the text ends in '/'. A store's root is a folder, also if it is empty.
Result<Named> look_up(const Location& location, std::string_view text, const CallOptions& call);

/// Does a URL of the command line name folders only?
inline bool asks_for_folder(std::string_view text) { return text.ends_with('/'); }

/// The entries that a pattern is to match.
enum class Matched { kObjects, kFolders, kBoth };

/// Calls `visit` for each object or folder that the pattern matches (store/glob.h), until it returns an
/// error.
/// \error kNotFound  there is none; what `visit` returns; kCancelled
Status visit_matches(const Location& pattern, Matched matched, const CallOptions& call,
                     const std::function<Status(const ObjectInfo&)>& visit);

/// The same place under another key.
Location with_key(const Location& location, std::string_view key);

Error nothing_at(const Location& location);
Error nothing_matches(const Location& pattern);

/// "2026-11-21 03:26:00" (UTC); blanks of the same width if the store does not tell.
std::string format_modified(const ObjectInfo& object);

struct Totals {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};
Result<Totals> total_below(const Location& folder, const CallOptions& call);

/// Is it an object that publishes a folder: a manifest? Written last and removed first.
bool is_manifest_key(std::string_view key);

/// kCancelled, where `stop` was stopped: for loops.
Status check_stop(const std::stop_token& stop, std::string_view doing);

}  // namespace headrace

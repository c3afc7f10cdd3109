#pragma once

/// \file Patterns for keys, as in shells: `*` and `?` match any characters except '/', `**` any characters at
/// all, a segment `**` any number of segments or none, `[a-c]` and `[!a-c]` one character of a set; a
/// backslash makes the next character literal.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/store.h"

namespace headrace {

/// True if the text holds `*`, `?` or `[`.
bool is_pattern(std::string_view text);

/// True if the text holds a `*` or `?` without a backslash before it. A `[` alone may be part of a name.
bool has_wildcards(std::string_view text);

/// The name that a text without wildcards writes: "a\*[1]" is "a*[1]". A backslash is left out before `*`,
/// `?`, `[`, `]` and a backslash, if the text holds one of `*?[` at all.
std::string literal_name(std::string_view text);

/// Whether the pattern matches the whole key. Cost: O(pattern · key) at worst. A `[` without its `]` is a
/// plain character.
bool matches_pattern(std::string_view pattern, std::string_view key);

/// The pattern's text before its first special character: all keys that match begin with it.
std::string_view literal_prefix(std::string_view pattern);

/// The folder that contains all matches: the pattern's segments before the first special one.
std::string_view literal_folder(std::string_view pattern);

struct MatchOptions {
  /// Also match folders, whose keys end in '/'; not if the pattern holds `**`.
  bool with_folders = false;
  CallOptions call{};
};

/// Calls `visit` with every object whose key matches, ascending, until it returns false. Lists only folders
/// whose names match so far, and from a segment with `**` on everything below.
Status visit_matches(Store& store, std::string_view pattern, const MatchOptions& options,
                     const std::function<bool(const ObjectInfo&)>& visit);

/// All matches, in one list.
Result<std::vector<ObjectInfo>> find_objects(Store& store, std::string_view pattern, const CallOptions& call);

}  // namespace headrace

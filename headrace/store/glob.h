#pragma once

/// \file Patterns for keys, as in shells:
/// - `*` matches any number of characters except '/', and `?` one such character.
/// - `**` matches any number of any characters. The segment `**` matches any number of segments, or none.
/// - `[a-c]` matches one character of a set; `[!a-c]` and `[^a-c]` one that is not in it. Never a '/'.
/// - A backslash makes the next character literal.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/store.h"

namespace headrace {

/// True if the text holds `*`, `?` or `[`.
bool is_pattern(std::string_view text);

/// True if the text holds a `*` or `?` without a backslash before it. A `[` alone may be part of a name.
bool has_wildcards(std::string_view text);

/// The name that a text without wildcards stands for: "a\*[1]" stands for "a*[1]". If the text holds `*`, `?`
/// or `[`, a backslash before `*`, `?`, `[`, `]` or a backslash is left out. Otherwise the text is the name.
std::string literal_name(std::string_view text);

/// Whether the pattern matches the whole key. A `[` without its `]` is an ordinary character.
/// Cost: at most O(pattern · key).
bool matches_pattern(std::string_view pattern, std::string_view key);

/// The pattern's text before its first special character: all keys that match begin with it.
std::string_view literal_prefix(std::string_view pattern);

/// The folder that contains all matches: the pattern's segments before the first special one.
std::string_view literal_folder(std::string_view pattern);

struct MatchOptions {
  /// Also match folders, whose keys end in '/'. Has no effect if the pattern holds `**`.
  bool with_folders = false;
  CallOptions call{};
};

/// Calls `visit` with every object whose key matches, in ascending order of keys, until `visit` returns
/// false. Cost: a listing of each folder whose name matches the pattern so far. From a segment with `**` on,
/// one listing covers everything below.
Status visit_matches(Store& store, std::string_view pattern, const MatchOptions& options,
                     const std::function<bool(const ObjectInfo&)>& visit);

/// All matches, in one list.
Result<std::vector<ObjectInfo>> find_objects(Store& store, std::string_view pattern, const CallOptions& call);

}  // namespace headrace

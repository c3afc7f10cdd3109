#pragma once

/// \file Patterns for keys, as shells have them: `*` and `?` stand for any characters but '/', `**` for any
/// at all, `[a-c]` and `[!a-c]` for one of a set; a backslash takes a character as it is.

#include <string_view>
#include <vector>

#include "headrace/store/store.h"

namespace headrace {

/// True if the text holds `*`, `?` or `[`.
bool is_pattern(std::string_view text);

/// Whether the whole key is as the pattern says. Cost: O(pattern · key) at worst. A `[` without its `]` is a
/// plain character.
bool matches_pattern(std::string_view pattern, std::string_view key);

/// The pattern's text before its first special character: all keys that match begin with it.
std::string_view literal_prefix(std::string_view pattern);

/// The objects whose keys match, ascending. Lists what begins with its literal prefix.
Result<std::vector<ObjectInfo>> find_objects(Store& store, std::string_view pattern, const CallOptions& call);

}  // namespace headrace

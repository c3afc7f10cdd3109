#pragma once

/// \file Store URLs: "s3://bucket/a/b", "file:///data/a", "memory://name/a", or a plain path of this machine.

#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

struct Url {
  std::string scheme;     // "s3", "file", …
  std::string authority;  // bucket or host; empty for file
  std::string path;       // key within the store, without leading or trailing slash; may be empty

  std::string text() const;
  bool operator==(const Url&) const = default;
};

/// Percent-escapes are not decoded: a key is written as it is. A text without "://" is a path of this
/// machine, taken relative to `working_folder` (absolute) where it is not absolute itself.
/// \error kInvalidArgument  not of the forms above, or user-info in it (a secret has no place in a URL)
Result<Url> parse_url(std::string_view text, std::string_view working_folder);

/// "a/b" + "c" = "a/b/c"; either may be empty.
std::string join_key(std::string_view folder, std::string_view name);
/// The prefix of all keys below a folder: "a/b" → "a/b/"; the store's root "" → "".
std::string folder_prefix(std::string_view key);
/// "a/b/c" → "a/b"; "" for a key of one segment.
std::string parent_key(std::string_view key);
/// "a/b/c" → "c".
std::string_view last_segment(std::string_view key);

}  // namespace headrace

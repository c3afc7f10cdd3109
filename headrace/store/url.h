#pragma once

/// \file Store URLs: "s3://bucket/a/b", "file:///data/a", "memory://name/a", or a plain path on this machine.
/// A driver (driver.h), or a kind of input that is not a store, may allow further forms for its own URLs.
/// docs/formats/store-url.md defines the grammar.

#include <span>
#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

/// The forms that URLs of a scheme may have.
struct UrlForm {
  /// A URL may have no bucket or host: "mem:///a".
  bool may_lack_authority = false;
  /// The first segment of the path belongs to the authority: "db://host:10800/bucket/key".
  bool has_bucket_in_path = false;
  /// The text after a '?' is a query, which the driver gets unchanged. If false, '?' is part of the key.
  bool takes_query = false;
};

struct Url {
  std::string scheme;     // "s3", "file", …
  std::string authority;  // bucket, host, or "host/bucket"; empty for "file", and where the form allows it
  std::string path;       // key within the store, without leading or trailing slash; may be empty
  std::string query{};    // without the '?'; empty unless the form takes a query

  std::string text() const;
  bool operator==(const Url&) const = default;
};

/// Percent-escapes are not decoded: a key is written literally. A text without "://" is a path on this
/// machine; a relative path starts at `working_folder`, which must be absolute. `form` is the form of the
/// scheme; it is ignored for "file".
/// \error kInvalidArgument  `text` breaks the grammar, or contains user-info (a URL must not hold a secret)
Result<Url> parse_url(std::string_view text, std::string_view working_folder, const UrlForm& form = {});

/// Refuses a path that begins like a misspelt URL of one of these schemes: "s3:/bucket/a", "s3:bucket/a",
/// "s3//bucket/a". Such a path would name a folder on this machine. Only the first segment is checked.
/// \error kInvalidArgument  the message names the URL that was probably meant, and how to write such a path
Status check_not_misspelt_url(std::string_view path, std::span<const std::string> schemes);

/// "S3://bucket/a" → "s3". Empty for a path.
std::string scheme_of(std::string_view text);

/// "a/b" + "c" = "a/b/c"; either may be empty.
std::string join_key(std::string_view folder, std::string_view name);
/// The prefix of all keys below a folder: "a/b" → "a/b/"; the store's root "" → "".
std::string folder_prefix(std::string_view key);
/// "a/b/c" → "a/b"; "" for a key of one segment.
std::string parent_key(std::string_view key);
/// "a/b/c" → "c".
std::string_view last_segment(std::string_view key);

}  // namespace headrace

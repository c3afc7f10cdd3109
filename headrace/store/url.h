#pragma once

/// \file Store URLs: "s3://bucket/a/b", "file:///data/a", "memory://name/a", or a plain path of this machine.
/// A driver (driver.h), or a kind of input that is no store, may allow further forms for its own URLs. The
/// grammar is docs/formats/store-url.md.

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
  /// The text after a '?' is a query, which the driver gets as it is. Otherwise '?' is part of the key.
  bool takes_query = false;
};

struct Url {
  std::string scheme;     // "s3", "file", …
  std::string authority;  // bucket, host, or "host/bucket"; empty for file, and where the form allows it
  std::string path;       // key within the store, without leading or trailing slash; may be empty
  std::string query{};    // without the '?'; only where the form takes one

  std::string text() const;
  bool operator==(const Url&) const = default;
};

/// Percent-escapes are not decoded: a key is written as it is. A text without "://" is a path of this
/// machine, taken relative to `working_folder` (absolute) where it is not absolute itself. `form` is that of
/// the scheme; "file" has its own.
/// \error kInvalidArgument  not of that grammar, or user-info in it (a secret has no place in a URL)
Result<Url> parse_url(std::string_view text, std::string_view working_folder, const UrlForm& form = {});

/// Refuses a path that begins as a misspelt URL of one of these schemes: "s3:/bucket/a", "s3:bucket/a",
/// "s3//bucket/a". It would name a folder of this machine. Nothing after the first segment matters.
/// \error kInvalidArgument  names the URL that was probably meant, and how to write such a path
Status check_not_misspelt_url(std::string_view path, std::span<const std::string> schemes);

/// "s3" of "S3://bucket/a"; empty for a path.
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

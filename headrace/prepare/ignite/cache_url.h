#pragma once

/// \file URLs ignite-cache://. Grammar: docs/formats/ignite-input.md.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/store/url.h"

namespace headrace {

/// A cache whose rows are read.
struct IgniteCacheUrl {
  std::string hosts;
  std::string cache;
  std::vector<std::string> columns{};  // the cells of a row; empty: all
};

/// \error kInvalidArgument  no cache; an unknown or repeated parameter; a wrong escape; not UTF-8
Result<IgniteCacheUrl> parse_ignite_cache_url(const Url& url);

/// A cache that receives entries.
struct IgniteCacheTarget {
  std::string hosts;
  std::string cache;
  std::string type;  // of the values
};

/// Parses ignite-cache://HOST[:PORT]/CACHE[?type=NAME].
/// \error as parse_ignite_cache_url
Result<IgniteCacheTarget> parse_ignite_cache_target(std::string_view text);

}  // namespace headrace

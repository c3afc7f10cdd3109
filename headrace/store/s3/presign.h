#pragma once

/// \file URLs that let anyone who has them read or write one object for a while, without keys.

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/store/s3/s3_options.h"

namespace headrace {

/// AWS's limit.
inline constexpr std::chrono::hours kLongestPresigned{7 * 24};

struct PresignOptions {
  std::string method = "GET";  // or "PUT", "HEAD", "DELETE"
  std::chrono::seconds lifetime{3'600};
};

struct PresignedUrl {
  /// A secret for as long as it can be used.
  std::string url;
  /// Its lifetime, or the end of the keys that signed it.
  std::chrono::system_clock::time_point usable_until;
};

/// Sends no request to the server, but may have to fetch keys first (docs/credentials.md). The bucket must be
/// in options.region.
/// \error kInvalidArgument     a lifetime below a second or above kLongestPresigned, or no key
/// \error kFailedPrecondition  anonymous; or a customer key encrypts, which no URL can carry; or PUT with
///                             encryption by the server, which needs a header field
Result<PresignedUrl> presign(std::string_view bucket, std::string_view key, const S3Options& options,
                             const PresignOptions& presign, const std::stop_token& stop = {});

}  // namespace headrace

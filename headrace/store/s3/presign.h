#pragma once

/// \file URLs that let anyone who has them read or write one object for a while, without keys.

#include <stop_token>
#include <string_view>

#include "headrace/store/driver.h"
#include "headrace/store/s3/s3_options.h"

namespace headrace {

/// Sends no request to the server, but may have to fetch keys first (docs/credentials.md). The bucket must be
/// in options.region.
/// \error kInvalidArgument     a lifetime below a second or above kLongestPresigned, or no key
/// \error kFailedPrecondition  anonymous; or a customer key encrypts, which no URL can carry; or PUT with
///                             encryption by the server, which needs a header field
Result<PresignedUrl> presign(std::string_view bucket, std::string_view key, const S3Options& options,
                             const PresignOptions& presign, const std::stop_token& stop = {});

}  // namespace headrace

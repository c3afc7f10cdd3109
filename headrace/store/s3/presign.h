#pragma once

/// \file Presigned URLs: anyone who has one can read or write one object for a while, without credentials.

#include <stop_token>
#include <string_view>

#include "headrace/store/driver.h"
#include "headrace/store/s3/s3_options.h"

namespace headrace {

/// Makes a presigned URL. Sends no request to the S3 server, but may have to fetch credentials first
/// (docs/credentials.md). The bucket must be in options.region.
/// \error kInvalidArgument     the lifetime is below a second or above kLongestPresigned, or `key` is not a
///                             valid key
/// \error kFailedPrecondition  there are no credentials (anonymous access); or objects are encrypted with a
///                             customer key, which no URL can carry; or the method is PUT and the server is
///                             to encrypt, which needs a header field
/// \error                      as for CredentialsProvider::get
Result<PresignedUrl> presign(std::string_view bucket, std::string_view key, const S3Options& options,
                             const PresignOptions& presign, const std::stop_token& stop = {});

}  // namespace headrace

#pragma once

/// \file Finds out, step by step, what prevents this machine from using a bucket.

#include <string_view>

#include "headrace/store/examine.h"
#include "headrace/store/s3/s3_options.h"

namespace headrace {

/// Reports the source of the settings, whether there are keys, whether the server answers, over which TLS,
/// how far apart the clocks are, whether the bucket can be listed, and its region. False: the bucket cannot
/// be used.
bool examine_s3(std::string_view bucket, const S3Options& options, const CallOptions& call,
                const Report& report);

/// Sends an object with a wrong checksum under a name below `folder` that nobody else uses.
void examine_s3_checksums(std::string_view bucket, std::string_view folder, const S3Options& options,
                          const CallOptions& call, const Report& report);

/// Completes multipart uploads under conditions that do not hold, below `folder`.
void examine_s3_completions(std::string_view bucket, std::string_view folder, const S3Options& options,
                            const CallOptions& call, const Report& report);

}  // namespace headrace

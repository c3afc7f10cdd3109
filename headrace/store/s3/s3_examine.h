#pragma once

/// \file Finds out, step by step, whether anything prevents this machine from using a bucket.

#include <string_view>

#include "headrace/store/examine.h"
#include "headrace/store/s3/s3_options.h"

namespace headrace {

/// Reports the source of the settings, whether there are credentials, whether the server answers, the TLS
/// version, the difference between the clocks, whether the bucket can be listed, and its region. Returns
/// false if the bucket cannot be used.
bool examine_s3(std::string_view bucket, const S3Options& options, const CallOptions& call,
                const Report& report);

/// Tests whether the server refuses an object with a wrong checksum. Uses a unique name below `folder`.
void examine_s3_checksums(std::string_view bucket, std::string_view folder, const S3Options& options,
                          const CallOptions& call, const Report& report);

/// Tests whether the server refuses to complete multipart uploads, below `folder`, under conditions that do
/// not hold.
void examine_s3_completions(std::string_view bucket, std::string_view folder, const S3Options& options,
                            const CallOptions& call, const Report& report);

}  // namespace headrace

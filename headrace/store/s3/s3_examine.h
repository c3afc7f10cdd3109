#pragma once

/// \file What stands between this machine and a bucket, found out step by step.

#include <string_view>

#include "headrace/store/examine.h"
#include "headrace/store/s3/s3_options.h"

namespace headrace {

/// Reports where the settings come from, whether there are keys, whether the server answers, over which TLS,
/// how far apart the clocks are, and whether the bucket lets itself be listed and in which region it lies.
/// False: the bucket cannot be used.
bool examine_s3(std::string_view bucket, const S3Options& options, const CallOptions& call,
                const Report& report);

/// Sends an object with a wrong checksum under a name that nobody else has below `folder`.
void examine_s3_checksums(std::string_view bucket, std::string_view folder, const S3Options& options,
                          const CallOptions& call, const Report& report);

}  // namespace headrace

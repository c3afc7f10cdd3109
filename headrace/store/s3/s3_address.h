#pragma once

/// \file Host and path of a bucket. Internal to the driver.

#include <string>
#include <string_view>

#include "headrace/store/s3/s3_options.h"

namespace headrace {

struct S3Address {
  HttpEndpoint endpoint;
  std::string path;  // path of the bucket: base path, and the bucket's name unless it is in the host

  /// Percent-encoded path of an object. An empty key gives the path of the bucket.
  std::string path_of(std::string_view key) const;
};

/// The address of a bucket. `region` is used only if `options` has no endpoint.
S3Address s3_address(std::string_view bucket, const S3Options& options, const std::string& region);

}  // namespace headrace

#include "headrace/store/s3/s3_address.h"

#include "headrace/base/text.h"
#include "headrace/net/url_encoding.h"

namespace headrace {
namespace {

// Returns whether the bucket's name can be part of a host name that a wildcard certificate covers.
bool fits_into_host(std::string_view bucket) {
  return bucket.size() >= 3 && bucket.size() <= 63 &&
         bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

}  // namespace

std::string S3Address::path_of(std::string_view key) const {
  return concat(path, key.empty() && !path.empty() ? "" : "/", percent_encode(key, "/"));
}

S3Address s3_address(std::string_view bucket, const S3Options& options, const std::string& region) {
  S3Address to{.endpoint =
                   options.endpoint.value_or(HttpEndpoint{.host = concat("s3.", region, ".amazonaws.com")})};
  if (!options.endpoint && region.starts_with("cn-")) to.endpoint.host += ".cn";
  const bool is_virtual = options.addressing == S3Addressing::kVirtual ||
                          (options.addressing == S3Addressing::kAuto && !options.endpoint);
  to.path = to.endpoint.base_path;
  if (is_virtual && fits_into_host(bucket)) {
    to.endpoint.host = concat(bucket, '.', to.endpoint.host);
  } else {
    to.path += concat('/', percent_encode(bucket));
  }
  return to;
}

}  // namespace headrace

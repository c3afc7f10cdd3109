#include "headrace/store/s3/presign.h"

#include <algorithm>

#include "headrace/base/key.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/credentials/sigv4.h"
#include "headrace/store/s3/s3_address.h"

namespace headrace {

Result<PresignedUrl> presign(std::string_view bucket, std::string_view key, const S3Options& options,
                             const PresignOptions& presign, const std::stop_token& stop) {
  const std::string what = concat("presigning s3://", bucket, '/', key);
  HEADRACE_CHECK(check_key(key));
  if (presign.lifetime < std::chrono::seconds(1) || presign.lifetime > kLongestPresigned)
    return Error{Code::kInvalidArgument, concat(what, ": a URL can be valid for 1 second to 7 days")};
  if (!options.credentials)
    return Error{Code::kFailedPrecondition, concat(what, ": there are no keys for signing")};
  if (std::holds_alternative<CustomerKeyEncryption>(options.encryption)) {
    return Error{Code::kFailedPrecondition,
                 concat(what, ": a URL cannot carry the key that HEADRACE_S3_SSE=customer encrypts with")};
  }
  if (std::holds_alternative<ServerKeyEncryption>(options.encryption) && presign.method == "PUT") {
    return Error{Code::kFailedPrecondition,
                 concat(what,
                        ": a URL cannot ask for the encryption in HEADRACE_S3_SSE; unset that, and let the "
                        "bucket's default encryption say how objects are encrypted")};
  }
  HEADRACE_TRY(const CredentialsProvider::Current keys, options.credentials->get(stop));
  const S3Address to = s3_address(bucket, options, options.region);
  const std::string path = to.path_of(key);
  QueryParameters query;
  if (options.requester_pays) query.emplace_back("x-amz-request-payer", "requester");
  const auto now = options.now();
  const HttpHeaders headers = {{"Host", to.endpoint.host_field()}};
  const std::string signed_query =
      SigV4Signer().presigned_query(*keys, presign.method, path, std::move(query), headers, presign.lifetime,
                                    options.region, format_amz_date(now));
  return PresignedUrl{
      concat(to.endpoint.tls ? "https://" : "http://", to.endpoint.host_field(), path, '?', signed_query),
      std::min(now + presign.lifetime, keys->expires.value_or(now + kLongestPresigned))};
}

}  // namespace headrace

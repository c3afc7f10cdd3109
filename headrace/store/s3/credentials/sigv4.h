#pragma once

/// \file AWS Signature Version 4, in the Authorization header field or in a URL's query.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html
/// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/net/http/http_message.h"
#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// Names and values, not encoded.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;

/// The query sorted and percent-encoded, "a=b&c=": the form that is signed and sent.
std::string canonical_query(const QueryParameters& parameters);

struct SignedParts {
  std::string_view method;
  std::string_view path;   // percent-encoded, as sent
  std::string_view query;  // as `canonical_query` makes it
  /// All of these are signed. Host and x-amz-date must be among them.
  const HttpHeaders& headers;
  /// Value of x-amz-content-sha256: a digest in hexadecimal, or "UNSIGNED-PAYLOAD".
  std::string_view payload_digest;
};

/// "20261121T032600Z", the value of x-amz-date.
std::string format_amz_date(std::chrono::system_clock::time_point time);

/// Signs for one service. Thread-safe. Caches the key that it derived last, which is valid for one day in one
/// region.
class SigV4Signer {
 public:
  explicit SigV4Signer(std::string service = "s3") : service_(std::move(service)) {}

  /// Value of the Authorization header field. `amz_date` is the value of x-amz-date. `parts` must already
  /// contain everything else that the request needs, including X-Amz-Security-Token.
  std::string authorization(const S3Credentials& credentials, const SignedParts& parts,
                            std::string_view region, std::string_view amz_date);

  /// The query of a presigned URL that is valid for `lifetime` from `amz_date` on: `query` plus the
  /// parameters of the signature, including the token. The signature covers the header fields `headers`,
  /// which must include Host, but not the body.
  std::string presigned_query(const S3Credentials& credentials, std::string_view method,
                              std::string_view path, QueryParameters query, const HttpHeaders& headers,
                              std::chrono::seconds lifetime, std::string_view region,
                              std::string_view amz_date);

 private:
  Bytes derived_key(const std::string& secret, std::string_view day, std::string_view region);
  std::string signature(const S3Credentials& credentials, const SignedParts& parts, std::string_view scope,
                        std::string_view region, std::string_view amz_date);

  const std::string service_;
  std::mutex mutex_;
  std::string key_scope_;  // secret, day and region that key_ is for
  Bytes key_;
};

}  // namespace headrace

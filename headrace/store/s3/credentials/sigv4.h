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

/// Sorted and percent-encoded, "a=b&c=": the form that is signed and sent.
std::string canonical_query(const QueryParameters& parameters);

struct SignedParts {
  std::string_view method;
  std::string_view path;   // percent-encoded, as sent
  std::string_view query;  // as `canonical_query` makes it
  /// All of these are signed; Host and x-amz-date must be among them.
  const HttpHeaders& headers;
  /// Value of x-amz-content-sha256: a digest in hexadecimal, or "UNSIGNED-PAYLOAD".
  std::string_view payload_digest;
};

/// "20261121T032600Z", the value of x-amz-date.
std::string format_amz_date(std::chrono::system_clock::time_point time);

/// Signs for one service. Thread-safe. The key derived last, good for a day in a region, is kept.
class SigV4Signer {
 public:
  explicit SigV4Signer(std::string service = "s3") : service_(std::move(service)) {}

  /// Value of the Authorization header field. `amz_date` as in the field of that name. Everything else that
  /// the request needs, including X-Amz-Security-Token, is already in `parts`.
  std::string authorization(const S3Credentials& credentials, const SignedParts& parts,
                            std::string_view region, std::string_view amz_date);

  /// The query of a URL that anyone may use for `lifetime` from `amz_date` on: `query` plus the signature's
  /// parameters, including the token. It is for requests with the header fields `headers`, Host among them,
  /// and any body.
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

#include "headrace/store/s3/credentials/sigv4.h"

#include <openssl/hmac.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "headrace/base/digest.h"
#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/net/url_encoding.h"

namespace headrace {
namespace {

Bytes hmac_sha256(BytesView key, std::string_view text) {
  Bytes digest(32);
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(digest.data()), &size);
  return digest;
}

// Trims the value, and replaces runs of spaces by one space.
std::string canonical_value(std::string_view value) {
  std::string out;
  for (const char c : trim(value)) {
    if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

struct CanonicalHeaders {
  explicit CanonicalHeaders(const HttpHeaders& headers) {
    std::map<std::string, std::string> sorted;
    for (const HttpHeader& header : headers) sorted[to_lower(header.name)] = canonical_value(header.value);
    for (const auto& [name, value] : sorted) {
      lines += concat(name, ':', value, '\n');
      names += concat(names.empty() ? "" : ";", name);
    }
  }
  std::string lines;
  std::string names;  // "a;b"
};

}  // namespace

std::string canonical_query(const QueryParameters& parameters) {
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const auto& [name, value] : parameters)
    encoded.emplace_back(percent_encode(name), percent_encode(value));
  std::ranges::sort(encoded);
  std::string query;
  for (const auto& [name, value] : encoded) query += concat(query.empty() ? "" : "&", name, '=', value);
  return query;
}

std::string format_amz_date(std::chrono::system_clock::time_point time) {
  std::string date = format_time(time);
  std::erase_if(date, [](char c) { return c == '-' || c == ':'; });
  return date;
}

Bytes SigV4Signer::derived_key(const std::string& secret, std::string_view day, std::string_view region) {
  std::string scope = concat(secret, '/', day, '/', region);
  const std::scoped_lock lock(mutex_);
  if (key_scope_ != scope) {
    key_ = hmac_sha256(as_bytes(concat("AWS4", secret)), day);
    key_ = hmac_sha256(key_, region);
    key_ = hmac_sha256(key_, service_);
    key_ = hmac_sha256(key_, "aws4_request");
    key_scope_ = std::move(scope);
  }
  return key_;
}

std::string SigV4Signer::signature(const S3Credentials& credentials, const SignedParts& parts,
                                   std::string_view scope, std::string_view region,
                                   std::string_view amz_date) {
  const CanonicalHeaders headers(parts.headers);
  const std::string canonical_request =
      concat(parts.method, '\n', parts.path, '\n', parts.query, '\n', headers.lines, '\n', headers.names,
             '\n', parts.payload_digest);
  const std::string to_sign =
      concat("AWS4-HMAC-SHA256\n", amz_date, '\n', scope, '\n', sha256_hex(as_bytes(canonical_request)));
  return hex(hmac_sha256(derived_key(credentials.secret_access_key, amz_date.substr(0, 8), region), to_sign));
}

std::string SigV4Signer::authorization(const S3Credentials& credentials, const SignedParts& parts,
                                       std::string_view region, std::string_view amz_date) {
  const std::string scope = concat(amz_date.substr(0, 8), '/', region, '/', service_, "/aws4_request");
  return concat("AWS4-HMAC-SHA256 Credential=", credentials.access_key_id, '/', scope,
                ", SignedHeaders=", CanonicalHeaders(parts.headers).names,
                ", Signature=", signature(credentials, parts, scope, region, amz_date));
}

std::string SigV4Signer::presigned_query(const S3Credentials& credentials, std::string_view method,
                                         std::string_view path, QueryParameters query,
                                         const HttpHeaders& headers, std::chrono::seconds lifetime,
                                         std::string_view region, std::string_view amz_date) {
  const std::string scope = concat(amz_date.substr(0, 8), '/', region, '/', service_, "/aws4_request");
  query.emplace_back("X-Amz-Algorithm", "AWS4-HMAC-SHA256");
  query.emplace_back("X-Amz-Credential", concat(credentials.access_key_id, '/', scope));
  query.emplace_back("X-Amz-Date", amz_date);
  query.emplace_back("X-Amz-Expires", concat(lifetime.count()));
  if (!credentials.session_token.empty())
    query.emplace_back("X-Amz-Security-Token", credentials.session_token);
  query.emplace_back("X-Amz-SignedHeaders", CanonicalHeaders(headers).names);
  const std::string text = canonical_query(query);
  const SignedParts parts{method, path, text, headers, "UNSIGNED-PAYLOAD"};
  return concat(text, "&X-Amz-Signature=", signature(credentials, parts, scope, region, amz_date));
}

}  // namespace headrace

#include "headrace/store/s3/sigv4.h"

#include <openssl/hmac.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "headrace/base/text.h"
#include "headrace/io/digest.h"
#include "headrace/io/url_encoding.h"

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

// Trimmed, runs of spaces made single.
std::string canonical_value(std::string_view value) {
  std::string out;
  for (const char c : trim(value)) {
    if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

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

SigV4Signer::SigV4Signer(S3Credentials credentials, std::string service)
    : credentials_(std::move(credentials)), service_(std::move(service)) {}

Bytes SigV4Signer::derived_key(std::string_view day, std::string_view region) {
  const std::string scope = concat(day, '/', region);
  const std::scoped_lock lock(mutex_);
  if (key_scope_ != scope) {
    key_ = hmac_sha256(as_bytes(concat("AWS4", credentials_.secret_access_key)), day);
    key_ = hmac_sha256(key_, region);
    key_ = hmac_sha256(key_, service_);
    key_ = hmac_sha256(key_, "aws4_request");
    key_scope_ = scope;
  }
  return key_;
}

std::string SigV4Signer::authorization(const SignedParts& parts, std::string_view region,
                                       std::string_view amz_date) {
  std::map<std::string, std::string> headers;
  for (const HttpHeader& header : parts.headers)
    headers[to_lower(header.name)] = canonical_value(header.value);
  std::string canonical_headers, signed_names;
  for (const auto& [name, value] : headers) {
    canonical_headers += concat(name, ':', value, '\n');
    signed_names += concat(signed_names.empty() ? "" : ";", name);
  }
  const std::string canonical_request =
      concat(parts.method, '\n', parts.path, '\n', parts.query, '\n', canonical_headers, '\n', signed_names,
             '\n', parts.payload_digest);
  const std::string_view day = amz_date.substr(0, 8);
  const std::string scope = concat(day, '/', region, '/', service_, "/aws4_request");
  const std::string to_sign =
      concat("AWS4-HMAC-SHA256\n", amz_date, '\n', scope, '\n', sha256_hex(as_bytes(canonical_request)));
  return concat("AWS4-HMAC-SHA256 Credential=", credentials_.access_key_id, '/', scope,
                ", SignedHeaders=", signed_names,
                ", Signature=", hex(hmac_sha256(derived_key(day, region), to_sign)));
}

}  // namespace headrace

#include "headrace/store/s3/encryption.h"

#include <array>
#include <fstream>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/checksum.h"

namespace headrace {
namespace {

constexpr std::string_view kPrefix = "x-amz-server-side-encryption";
constexpr std::size_t kCustomerKeyBytes = 32;

Error refuse(std::string_view why) { return {Code::kInvalidArgument, concat("s3: ", why)}; }

// Returns the file's bytes, decoded if they are base64. The buffer is far larger than a key in base64.
Result<Bytes> read_key_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 256> text{};
  file.read(text.data(), text.size());
  const std::string_view read(text.data(), static_cast<std::size_t>(file.gcount()));
  if (read.size() == kCustomerKeyBytes) return to_bytes(read);
  if (auto key = parse_base64(trim(read))) return *std::move(key);
  return refuse(
      "HEADRACE_S3_SSE_CUSTOMER_KEY_FILE must name a file with 32 bytes, or with 32 bytes in base64");
}

Result<S3Encryption> customer_key_from(const Environment& environment) {
  if (const auto path = environment.get("HEADRACE_S3_SSE_CUSTOMER_KEY_FILE")) {
    HEADRACE_TRY(const Bytes key, read_key_file(*path));
    return customer_key_encryption(key);
  }
  const auto key = parse_base64(trim(environment.get("HEADRACE_S3_SSE_CUSTOMER_KEY").value_or("")));
  if (!key)
    return refuse(
        "HEADRACE_S3_SSE=customer needs HEADRACE_S3_SSE_CUSTOMER_KEY (32 bytes in base64) or "
        "HEADRACE_S3_SSE_CUSTOMER_KEY_FILE");
  return customer_key_encryption(*key);
}

void append_customer_key(HttpHeaders& headers, std::string_view prefix, const CustomerKeyEncryption& key) {
  headers.push_back({concat(prefix, "-customer-algorithm"), "AES256"});
  headers.push_back({concat(prefix, "-customer-key"), key.key_base64});
  headers.push_back({concat(prefix, "-customer-key-MD5"), key.key_md5_base64});
}

HttpHeaders headers_for(const NoEncryption&, S3Operation) { return {}; }

HttpHeaders headers_for(const ServerKeyEncryption& server, S3Operation operation) {
  if (operation != S3Operation::kWrites && operation != S3Operation::kStartsUpload &&
      operation != S3Operation::kCopies)
    return {};
  HttpHeaders headers = {{std::string(kPrefix), server.algorithm}};
  if (!server.kms_key_id.empty()) headers.push_back({concat(kPrefix, "-aws-kms-key-id"), server.kms_key_id});
  return headers;
}

HttpHeaders headers_for(const CustomerKeyEncryption& key, S3Operation operation) {
  HttpHeaders headers;
  if (operation == S3Operation::kOther) return headers;
  append_customer_key(headers, kPrefix, key);
  if (operation == S3Operation::kCopies || operation == S3Operation::kCopiesIntoPart)
    append_customer_key(headers, "x-amz-copy-source-server-side-encryption", key);
  return headers;
}

}  // namespace

Result<S3Encryption> customer_key_encryption(BytesView key) {
  if (key.size() != kCustomerKeyBytes)
    return refuse(concat("the customer's key for SSE-C has ", key.size(), " bytes; it must have 32"));
  return S3Encryption(CustomerKeyEncryption{base64(key), md5_field(key)});
}

Result<S3Encryption> encryption_from(const Environment& environment) {
  const auto mode = environment.get("HEADRACE_S3_SSE");
  if (!mode) return S3Encryption(NoEncryption());
  if (*mode == "customer") return customer_key_from(environment);
  if (*mode != "AES256" && *mode != "aws:kms" && *mode != "aws:kms:dsse")
    return refuse("HEADRACE_S3_SSE must be AES256, aws:kms, aws:kms:dsse or customer");
  const auto key_id = environment.get("HEADRACE_S3_SSE_KMS_KEY_ID");
  if (key_id && *mode == "AES256")
    return refuse("HEADRACE_S3_SSE_KMS_KEY_ID is set, but HEADRACE_S3_SSE is not aws:kms");
  return S3Encryption(ServerKeyEncryption{*mode, key_id.value_or("")});
}

Status check_encryption(const S3Encryption& encryption, const std::optional<HttpEndpoint>& endpoint,
                        const TlsOptions& tls) {
  const bool is_local = endpoint && endpoint->is_loopback();
  if (!std::holds_alternative<CustomerKeyEncryption>(encryption) || is_local) return {};
  if (endpoint && !endpoint->tls)
    return refuse(concat("HEADRACE_S3_SSE=customer sends the key with each request, and ", endpoint->text(),
                         " is not encrypted; use https://"));
  if (tls.verify) return {};
  return refuse(
      "HEADRACE_S3_SSE=customer sends the key with each request, and S3_VERIFY_SSL=0 lets anyone answer; "
      "name "
      "the file of the server's certificate authority in AWS_CA_BUNDLE instead");
}

HttpHeaders encryption_headers(const S3Encryption& encryption, S3Operation operation) {
  return std::visit([&](const auto& kind) { return headers_for(kind, operation); }, encryption);
}

}  // namespace headrace

#pragma once

/// \file Encryption by the server: which header fields ask for it.
/// https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingEncryption.html

#include <optional>
#include <string>
#include <variant>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/net/http/http_message.h"
#include "headrace/net/tls.h"

namespace headrace {

/// The bucket's default.
struct NoEncryption {};
/// With keys that the server keeps: SSE-S3, SSE-KMS, DSSE-KMS.
struct ServerKeyEncryption {
  std::string algorithm;     // "AES256", "aws:kms", "aws:kms:dsse"
  std::string kms_key_id{};  // empty: the account's own
};
/// With a key that is sent to the server in each request and that it forgets: SSE-C. Never printed.
struct CustomerKeyEncryption {
  std::string key_base64;
  std::string key_md5_base64;
};
using S3Encryption = std::variant<NoEncryption, ServerKeyEncryption, CustomerKeyEncryption>;

/// 32 bytes.
/// \error kInvalidArgument  another length
Result<S3Encryption> customer_key_encryption(BytesView key);

/// HEADRACE_S3_SSE = AES256, aws:kms, aws:kms:dsse (HEADRACE_S3_SSE_KMS_KEY_ID), or customer:
/// HEADRACE_S3_SSE_CUSTOMER_KEY (base64) or HEADRACE_S3_SSE_CUSTOMER_KEY_FILE (32 bytes, or base64).
/// \error kInvalidArgument  names the variable, never the key
Result<S3Encryption> encryption_from(const Environment& environment);

/// Checks that a customer key is sent only over TLS to a server whose certificate is checked, or within this
/// machine. No endpoint: AWS, over TLS.
/// \error kInvalidArgument
Status check_encryption(const S3Encryption& encryption, const std::optional<HttpEndpoint>& endpoint,
                        const TlsOptions& tls);

/// Kinds of request, as far as encryption is concerned.
enum class S3Operation {
  kOther,           // removes, lists, drops
  kReads,           // GET, HEAD of an object
  kWrites,          // PUT of an object
  kStartsUpload,    // CreateMultipartUpload
  kSendsPart,       // UploadPart
  kCompletes,       // CompleteMultipartUpload
  kCopies,          // CopyObject
  kCopiesIntoPart,  // UploadPartCopy
};
HttpHeaders encryption_headers(const S3Encryption& encryption, S3Operation operation);

}  // namespace headrace

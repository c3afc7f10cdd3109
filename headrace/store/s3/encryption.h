#pragma once

/// \file Encryption by the server, and the header fields that ask for it.
/// https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingEncryption.html

#include <optional>
#include <string>
#include <variant>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/net/http/http_message.h"
#include "headrace/net/tls.h"

namespace headrace {

/// Asks for nothing: the bucket's default applies.
struct NoEncryption {};
/// Encryption with keys that the server keeps: SSE-S3, SSE-KMS, DSSE-KMS.
struct ServerKeyEncryption {
  std::string algorithm;     // "AES256", "aws:kms", "aws:kms:dsse"
  std::string kms_key_id{};  // empty: the account's default key
};
/// Encryption with a key that is sent to the server in each request and that the server does not keep: SSE-C.
/// Never printed.
struct CustomerKeyEncryption {
  std::string key_base64;
  std::string key_md5_base64;
};
using S3Encryption = std::variant<NoEncryption, ServerKeyEncryption, CustomerKeyEncryption>;

/// `key` must have 32 bytes.
/// \error kInvalidArgument  `key` has another length
Result<S3Encryption> customer_key_encryption(BytesView key);

/// Reads HEADRACE_S3_SSE:
///   unset                  NoEncryption
///   AES256                 no further variables
///   aws:kms, aws:kms:dsse  HEADRACE_S3_SSE_KMS_KEY_ID, if it is set
///   customer               HEADRACE_S3_SSE_CUSTOMER_KEY_FILE (32 bytes, or base64), else
///                          HEADRACE_S3_SSE_CUSTOMER_KEY (base64)
/// \error kInvalidArgument  a variable cannot be understood; the message names it, never the key
Result<S3Encryption> encryption_from(const Environment& environment);

/// Checks that a customer key is sent only over TLS to a server whose certificate is verified, or within this
/// machine. No endpoint means AWS over TLS.
/// \error kInvalidArgument  the key would be sent in another way
Status check_encryption(const S3Encryption& encryption, const std::optional<HttpEndpoint>& endpoint,
                        const TlsOptions& tls);

/// Kinds of request, as far as encryption is concerned.
enum class S3Operation {
  kOther,           // removes, lists, aborts
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

#pragma once

/// \file Parses the answers of programs, containers, instances and STS to a request for keys. The answers are
/// not trusted, and no error quotes them.

#include <string>
#include <string_view>

#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// Larger than any valid answer.
inline constexpr std::size_t kMaxAnswerBytes = 256 << 10;

enum class CredentialsForm {
  kProcess,  // "Version": 1, "SessionToken"
  kService,  // from containers and instances: "Token", "Code"
};

/// Parses {"AccessKeyId": …, "SecretAccessKey": …, "Expiration": …} and a token.
/// \error kUnauthenticated  `text` is another document, or a refusal, whose code the message names
Result<S3Credentials> parse_credentials_json(std::string_view text, CredentialsForm form);

/// Parses the <Credentials> in the answer to `action`, for example in an <AssumeRoleResponse>.
/// \error kUnauthenticated  `xml` is another document
Result<S3Credentials> parse_sts_credentials(std::string_view xml, std::string_view action);

/// The code and message in STS's <ErrorResponse>: "AccessDenied: may not assume the role". Empty if the text
/// is not an <ErrorResponse>. Printable.
std::string parse_sts_error(std::string_view xml);

}  // namespace headrace

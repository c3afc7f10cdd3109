#pragma once

/// \file Parses the answers of programs, containers, instances and STS to a request for keys. None of them is
/// trusted, and no error quotes the answer.

#include <string>
#include <string_view>

#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// Larger than any valid answer.
inline constexpr std::size_t kMaxAnswerBytes = 256 << 10;

enum class CredentialsForm {
  kProcess,  // "Version": 1, "SessionToken"
  kService,  // of containers and instances: "Token", "Code"
};

/// {"AccessKeyId": …, "SecretAccessKey": …, "Expiration": …} and a token.
/// \error kUnauthenticated  another document, or a service's refusal, by its code
Result<S3Credentials> parse_credentials_json(std::string_view text, CredentialsForm form);

/// The <Credentials> of <Action>Response.
/// \error kUnauthenticated  another document
Result<S3Credentials> parse_sts_credentials(std::string_view xml, std::string_view action);

/// "AccessDenied: may not assume the role", from STS' <ErrorResponse>; empty if the text is not one.
/// Printable.
std::string parse_sts_error(std::string_view xml);

}  // namespace headrace

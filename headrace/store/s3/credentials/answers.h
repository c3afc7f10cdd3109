#pragma once

/// \file What programs, containers, instances and STS say when asked for keys, read. None of them is trusted,
/// and no error quotes what was read.

#include <string>
#include <string_view>

#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// More than any of them has to say.
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

/// "AccessDenied: may not assume the role", from STS' <ErrorResponse>; empty if it is none. Printable.
std::string parse_sts_error(std::string_view xml);

}  // namespace headrace

#pragma once

/// \file Keys from a profile of AWS's files, and from the profiles that it names. Internal to this folder.

#include <optional>

#include "headrace/store/s3/credentials/chain.h"
#include "headrace/store/s3/credentials/sts.h"

namespace headrace {

/// The source that a profile describes. None if the profile does not exist or says nothing about keys. The
/// files are read again for each fetch.
/// \error kUnauthenticated  only half of a pair of keys is set
/// \error kInvalidArgument  a chain of profiles leads to no keys, or a setting cannot be understood
Result<std::optional<CredentialsSource>> profile_source(const CredentialsContext& context,
                                                        const std::string& profile);

/// Keys from AssumeRoleWithWebIdentity. The token file is read again for each fetch. `name` is for messages.
/// \error kInvalidArgument  AWS_ENDPOINT_URL_STS or AWS_ENDPOINT_URL is not a URL
Result<CredentialsSource> web_identity_source(const CredentialsContext& context, Role role,
                                              std::string token_file, std::string name);

/// The profile's role_session_name, else AWS_ROLE_SESSION_NAME, else a random name.
std::string role_session_name(const Environment& environment, const std::optional<std::string>& in_profile);

/// Keys from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. None if neither is set.
/// \error kUnauthenticated  only one of them is set
Result<std::optional<CredentialsSource>> environment_source(const Environment& environment);

}  // namespace headrace

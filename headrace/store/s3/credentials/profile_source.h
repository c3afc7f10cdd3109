#pragma once

/// \file Keys from a profile of AWS's files, and from the profiles that it names. Internal to this folder.

#include <optional>

#include "headrace/store/s3/credentials/chain.h"
#include "headrace/store/s3/credentials/sts.h"

namespace headrace {

/// None if the profile does not exist or says nothing about keys.
/// \error kUnauthenticated   half of a pair of keys
/// \error kInvalidArgument   a chain of profiles without an end, or a setting that cannot be understood
Result<std::optional<CredentialsSource>> profile_source(const CredentialsContext& context,
                                                        const std::string& profile);

/// AssumeRoleWithWebIdentity; the file is read again for each fetch. `name` for messages.
/// \error kInvalidArgument  AWS_ENDPOINT_URL_STS or AWS_ENDPOINT_URL is not a URL
Result<CredentialsSource> web_identity_source(const CredentialsContext& context, Role role,
                                              std::string token_file, std::string name);

/// `role_session_name`, else AWS_ROLE_SESSION_NAME, else a random one.
std::string role_session_name(const Environment& environment, const std::optional<std::string>& in_profile);

/// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. None if neither is set.
/// \error kUnauthenticated  one without the other
Result<std::optional<CredentialsSource>> environment_source(const Environment& environment);

}  // namespace headrace

#pragma once

/// \file Keys from a container, an instance or a program. Internal to this folder. chain.h chooses among
/// them.

#include "headrace/base/environment.h"
#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// Keys of a container on ECS, EKS and the like, which the variables AWS_CONTAINER_* describe. None if
/// neither URI is set.
/// \error kInvalidArgument  the URI is not valid, or keys would be sent unencrypted over a network
Result<std::optional<CredentialsSource>> container_source(const Environment& environment,
                                                          const std::string& ca_file);

/// Keys of the instance's role, from the instance metadata service, version 2.
/// \error kInvalidArgument  AWS_EC2_METADATA_SERVICE_ENDPOINT is not a URL
Result<CredentialsSource> instance_source(const Environment& environment);

/// Keys that a shell command prints. `name` is for messages.
CredentialsSource process_source(std::string command, const Environment& environment, std::string name);

}  // namespace headrace

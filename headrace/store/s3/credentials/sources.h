#pragma once

/// \file Keys from a container, an instance or a program. Internal to this folder; chain.h decides which of
/// them is asked.

#include "headrace/base/environment.h"
#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// Keys of a container on ECS, EKS and the like, as AWS_CONTAINER_* say. None if neither URI is set.
/// \error kInvalidArgument  the URI is none, or keys would travel in the clear
Result<std::optional<CredentialsSource>> container_source(const Environment& environment,
                                                          const std::string& ca_file);

/// Keys of the instance's role, from its metadata service, version 2.
/// \error kInvalidArgument  AWS_EC2_METADATA_SERVICE_ENDPOINT is not a URL
Result<CredentialsSource> instance_source(const Environment& environment);

/// Keys that the shell command prints. `name` for messages.
CredentialsSource process_source(std::string command, const Environment& environment, std::string name);

}  // namespace headrace

#pragma once

/// \file Assumes roles at AWS's Security Token Service, or at a service that speaks its protocol, such as
/// MinIO.
/// https://docs.aws.amazon.com/STS/latest/APIReference/

#include "headrace/net/http/http_message.h"
#include "headrace/net/http/http_proxy.h"
#include "headrace/store/s3/credentials/provider.h"

namespace headrace {

struct StsService {
  HttpEndpoint endpoint;
  std::string endpoint_source;  // for messages: "AWS_ENDPOINT_URL_STS"
  std::string region;
  std::string ca_file{};
  HttpProxies proxies{};
  CredentialsProvider::Clock now;
};

struct Role {
  std::string arn;
  std::string session_name;
  std::string external_id{};
  std::optional<unsigned> duration_s{};
};

/// Sends AssumeRole, signed with the keys `by`.
/// \error kUnauthenticated  STS refuses; the message contains its reason
/// \error kUnavailable      STS is overloaded or failing, also after retries
/// \error kInvalidArgument  keys would be sent unencrypted over a network
/// \error                   as for ask_service
Result<S3Credentials> assume_role(const StsService& sts, const Role& role, const S3Credentials& by,
                                  const FetchLimits& limits);

/// Sends AssumeRoleWithWebIdentity with the token of another identity provider. The request is not signed.
/// \error as for assume_role
Result<S3Credentials> assume_role_with_web_identity(const StsService& sts, const Role& role,
                                                    const std::string& token, const FetchLimits& limits);

}  // namespace headrace

#pragma once

/// \file Assumes roles at AWS' Security Token Service or a service that speaks its protocol (MinIO does).
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

/// AssumeRole, with keys that have the permission.
/// \error kUnauthenticated  refused; the message has STS' reason
/// \error kUnavailable      overloaded or failing, also after repeats
Result<S3Credentials> assume_role(const StsService& sts, const Role& role, const S3Credentials& by,
                                  const FetchLimits& limits);

/// AssumeRoleWithWebIdentity, with a token of another identity provider; the request is not signed.
/// \error as assume_role
Result<S3Credentials> assume_role_with_web_identity(const StsService& sts, const Role& role,
                                                    const std::string& token, const FetchLimits& limits);

}  // namespace headrace

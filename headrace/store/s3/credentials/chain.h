#pragma once

/// \file Chooses the source of keys: docs/credentials.md, "Order".

#include "headrace/base/environment.h"
#include "headrace/net/http/http_proxy.h"
#include "headrace/store/s3/credentials/provider.h"

namespace headrace {

/// Settings that any source may need.
struct CredentialsContext {
  Environment environment;
  std::string region;  // the region whose STS is used
  /// As in TlsOptions. The certificates of services that issue keys are always verified.
  std::string ca_file{};
  HttpProxies proxies{};  // for STS; containers and instances are reached directly
};

/// Reads variables and files, but sends no request and starts no program. Null: requests are not signed
/// (HEADRACE_S3_ANONYMOUS).
/// \error kUnauthenticated  there are no credentials, or they are incomplete; the message says what to set
/// \error kInvalidArgument  a variable or profile cannot be understood; the message names it, never its
///                          secret
Result<std::shared_ptr<CredentialsProvider>> find_credentials(const CredentialsContext& context);

}  // namespace headrace

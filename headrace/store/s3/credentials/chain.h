#pragma once

/// \file Decides which source of keys is used: docs/credentials.md, "Order".

#include "headrace/base/environment.h"
#include "headrace/net/http/http_proxy.h"
#include "headrace/store/s3/credentials/provider.h"

namespace headrace {

/// Settings that any source may need.
struct CredentialsContext {
  Environment environment;
  std::string region;  // STS is asked there
  /// As in TlsOptions. The certificates of services that issue keys are always verified.
  std::string ca_file{};
  HttpProxies proxies{};  // to STS; containers and instances are asked directly
};

/// Reads variables and files; sends no request and starts no program. Null: requests are not to be signed
/// (HEADRACE_S3_ANONYMOUS).
/// \error kUnauthenticated   no credentials, or incomplete ones; the message says what to set
/// \error kInvalidArgument   a variable or profile that cannot be understood; names it, never its secret
Result<std::shared_ptr<CredentialsProvider>> find_credentials(const CredentialsContext& context);

}  // namespace headrace

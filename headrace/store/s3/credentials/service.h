#pragma once

/// \file One request to a service that gives keys. Internal to this folder.

#include "headrace/io/http_client.h"
#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// "http://host:80/a/b?c", in two.
struct ServiceUrl {
  HttpEndpoint endpoint;  // without base_path
  std::string target;
};
/// \error kInvalidArgument  no http or https URL
Result<ServiceUrl> parse_service_url(std::string_view url);

/// What goes there and comes back, tokens and keys, is not to be read on the way: TLS, or this machine.
bool is_confidential(const HttpEndpoint& endpoint);

/// The answer, whatever its status. Repeated twice where there is none, and after 429 and 5xx.
/// \error as HttpClient::perform
Result<HttpResponse> ask_service(HttpRequest request, const TlsOptions& tls, const HttpProxies& proxies,
                                 const FetchLimits& limits);

/// The text of a file that holds a token, without white space around it.
/// \error kFailedPrecondition  it cannot be read, is empty, or longer than 64 KiB
Result<std::string> read_token_file(const std::string& path);

}  // namespace headrace

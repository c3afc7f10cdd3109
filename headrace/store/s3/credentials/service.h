#pragma once

/// \file One request to a service that issues keys. Internal to this folder.

#include "headrace/net/http/http_client.h"
#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// "http://host:80/a/b?c", in two.
struct ServiceUrl {
  HttpEndpoint endpoint;  // without base_path
  std::string target;
};
/// \error kInvalidArgument  no http or https URL
Result<ServiceUrl> parse_service_url(std::string_view url);

/// Whether the tokens and keys that travel cannot be read on the way: over TLS, or within this machine.
bool is_confidential(const HttpEndpoint& endpoint);

/// 429, 5xx, or STS' answers with 400 when it is overloaded or cannot reach an identity provider.
bool asks_to_come_again(const HttpResponse& answer);

/// The answer, whatever its status. The request is repeated twice if there is no answer, or one that asks for
/// a retry. The server's certificate is verified; `ca_file` as in TlsOptions.
/// \error as HttpClient::perform
Result<HttpResponse> ask_service(HttpRequest request, const std::string& ca_file, const HttpProxies& proxies,
                                 const FetchLimits& limits);

/// The text of a file that holds a token, without white space around it.
/// \error kFailedPrecondition  it cannot be read, is empty, or longer than 64 KiB
Result<std::string> read_token_file(const std::string& path);

}  // namespace headrace

#pragma once

/// \file One request to a service that issues keys. Internal to this folder.

#include "headrace/net/http/http_client.h"
#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// "http://host:80/a/b?c", split into endpoint and target.
struct ServiceUrl {
  HttpEndpoint endpoint;  // without base_path
  std::string target;
};
/// \error kInvalidArgument  `url` is not an http or https URL
Result<ServiceUrl> parse_service_url(std::string_view url);

/// Whether tokens and keys cannot be read on the way, because they are sent over TLS or stay on this machine.
bool is_confidential(const HttpEndpoint& endpoint);

/// Whether a retry may help: 429, 5xx, or STS's answers with 400 when it is overloaded or cannot reach an
/// identity provider.
bool asks_for_retry(const HttpResponse& answer);

/// Sends the request and returns the answer, whatever its status. Retries up to twice if there is no answer,
/// or if asks_for_retry. The server's certificate is verified; `ca_file` as in TlsOptions.
/// \error kCancelled  a stop was requested on `limits.stop`
/// \error             as for HttpClient::perform
Result<HttpResponse> ask_service(HttpRequest request, const std::string& ca_file, const HttpProxies& proxies,
                                 const FetchLimits& limits);

/// The text of a file that contains a token, without surrounding white space.
/// \error kFailedPrecondition  the file cannot be read, is empty, or is longer than 64 KiB
Result<std::string> read_token_file(const std::string& path);

}  // namespace headrace

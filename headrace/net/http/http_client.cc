#include "headrace/net/http/http_client.h"

#include <optional>

#include "headrace/net/http/http_connections.h"

namespace headrace {

HttpClient::HttpClient(const HttpClientOptions& options)
    : connections_(std::make_unique<HttpConnections>(options)) {}
HttpClient::~HttpClient() = default;

HttpCounters HttpClient::counters(const HttpEndpoint& endpoint) const {
  return connections_->governor(endpoint).counters();
}

Result<HttpResponse> HttpClient::perform(const HttpRequest& request, const std::stop_token& stop) {
  HttpTransfers transfers(*this, stop);
  std::optional<Result<HttpResponse>> out;
  transfers.start(request, [&](Result<HttpResponse> response) { out = std::move(response); });
  transfers.run();
  return *std::move(out);
}

}  // namespace headrace

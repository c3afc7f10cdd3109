#include "headrace/store/s3/credentials/service.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/net/backoff.h"
#include "headrace/store/s3/credentials/answers.h"

namespace headrace {
namespace {

constexpr int kMaxAttempts = 3;
constexpr std::size_t kMaxTokenBytes = 64 << 10;

// https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html
constexpr std::array<std::string_view, 4> kRetryCodes = {"Throttling", "ThrottlingException",
                                                         "RequestLimitExceeded", "IDPCommunicationError"};

bool is_retryable(const Result<HttpResponse>& answer) {
  if (answer) return asks_for_retry(*answer);
  return answer.error().code == Code::kUnavailable || answer.error().code == Code::kDeadlineExceeded;
}

}  // namespace

Result<ServiceUrl> parse_service_url(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos)
    return Error{Code::kInvalidArgument, "it begins with neither http:// nor https://"};
  const std::size_t target_at = std::min(url.find_first_of("/?", scheme_end + 3), url.size());
  HEADRACE_TRY(HttpEndpoint endpoint, parse_http_endpoint(url.substr(0, target_at)));
  const std::string_view target = url.substr(target_at);
  return ServiceUrl{std::move(endpoint), concat(target.starts_with('/') ? "" : "/", target)};
}

bool is_confidential(const HttpEndpoint& endpoint) { return endpoint.tls || endpoint.is_loopback(); }

bool asks_for_retry(const HttpResponse& answer) {
  if (answer.status == 429 || answer.status >= 500) return true;
  const std::string reason = parse_sts_error(as_text(answer.body));
  return answer.status == 400 &&
         std::ranges::find(kRetryCodes, reason.substr(0, reason.find(':'))) != kRetryCodes.end();
}

Result<HttpResponse> ask_service(HttpRequest request, const std::string& ca_file, const HttpProxies& proxies,
                                 const FetchLimits& limits) {
  request.max_body_bytes = kMaxAnswerBytes;
  request.stall_timeout = limits.patience;
  request.repeatable = false;
  HttpClient client({.max_connections = 1,
                     .connect_timeout = limits.patience,
                     .tls = {.ca_file = ca_file},
                     .proxies = proxies});
  Backoff backoff({.shortest = std::chrono::milliseconds(100), .longest = std::chrono::milliseconds(1'000)},
                  random_name_bits());
  for (int attempt = 1;; ++attempt) {
    Result<HttpResponse> answer = client.perform(request, limits.stop);
    if (attempt == kMaxAttempts || !is_retryable(answer)) return answer;
    if (!sleep_unless_stopped(backoff.next(), limits.stop))
      return Error{Code::kCancelled, "stopped while asking for credentials"};
  }
}

Result<std::string> read_token_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxTokenBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  const std::string_view token = trim(text);
  if (token.empty() || text.size() > kMaxTokenBytes) {
    return Error{Code::kFailedPrecondition,
                 concat("the token file ", path, " cannot be read, is empty, or longer than 64 KiB")};
  }
  return std::string(token);
}

}  // namespace headrace

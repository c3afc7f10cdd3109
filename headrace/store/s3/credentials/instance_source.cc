#include "headrace/base/text.h"
#include "headrace/net/url_encoding.h"
#include "headrace/store/s3/credentials/answers.h"
#include "headrace/store/s3/credentials/service.h"
#include "headrace/store/s3/credentials/sources.h"

namespace headrace {
namespace {

// The service is reached over this machine's link. If there is none, the packets are lost.
constexpr std::chrono::milliseconds kPatience{2'000};
constexpr std::string_view kRoles = "/latest/meta-data/iam/security-credentials/";

Result<std::string> ask(const HttpRequest& request, const FetchLimits& limits) {
  HEADRACE_TRY(const HttpResponse answer,
               ask_service(request, {}, {}, {std::min(limits.patience, kPatience), limits.stop}));
  if (!answer.is_success()) {
    return Error{Code::kUnauthenticated, concat(request.endpoint.text(), " answers ", request.method, ' ',
                                                request.target, " with status ", answer.status,
                                                answer.status == 404 ? "; has the instance a role?" : "")};
  }
  return std::string(trim(as_text(answer.body)));
}

Result<S3Credentials> fetch(const ServiceUrl& url, const FetchLimits& limits) {
  const std::string base =
      url.target.ends_with('/') ? url.target.substr(0, url.target.size() - 1) : url.target;
  HttpRequest request{.endpoint = url.endpoint,
                      .method = "PUT",
                      .target = concat(base, "/latest/api/token"),
                      .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "300"}}};
  HEADRACE_TRY(const std::string token, ask(request, limits));
  request.method = "GET";
  request.headers = {{"X-aws-ec2-metadata-token", token}};
  request.target = concat(base, kRoles);
  HEADRACE_TRY(const std::string roles, ask(request, limits));
  request.target += percent_encode(trim(roles.substr(0, roles.find('\n'))));
  HEADRACE_TRY(const std::string document, ask(request, limits));
  return parse_credentials_json(document, CredentialsForm::kService);
}

}  // namespace

Result<CredentialsSource> instance_source(const Environment& environment) {
  const bool is_ipv6 =
      to_lower(environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE").value_or("")) == "ipv6";
  const std::string text = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT")
                               .value_or(is_ipv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254");
  Result<ServiceUrl> url = parse_service_url(text);
  if (!url) return std::move(url).error().in("s3: AWS_EC2_METADATA_SERVICE_ENDPOINT");
  return CredentialsSource{.name = concat("the instance's role at ", url->endpoint.text()),
                           .fetch = [url = *url](const FetchLimits& limits) { return fetch(url, limits); }};
}

}  // namespace headrace

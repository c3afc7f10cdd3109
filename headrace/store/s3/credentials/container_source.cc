#include <algorithm>
#include <array>

#include "headrace/base/text.h"
#include "headrace/store/s3/credentials/answers.h"
#include "headrace/store/s3/credentials/service.h"
#include "headrace/store/s3/credentials/sources.h"

namespace headrace {
namespace {

constexpr std::string_view kRelative = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
constexpr std::string_view kFull = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
// The addresses of ECS, and of EKS over IPv4 and IPv6: links of the machine, on which TLS is not used.
constexpr std::array<std::string_view, 3> kLinkLocal = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23"};

Result<std::string> authorization_of(const Environment& environment) {
  if (const auto file = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"))
    return read_token_file(*file);
  return environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
}

Result<S3Credentials> fetch(const ServiceUrl& url, const Environment& environment, const std::string& ca_file,
                            const FetchLimits& limits) {
  HEADRACE_TRY(const std::string authorization, authorization_of(environment));
  HttpRequest request{.endpoint = url.endpoint, .target = url.target};
  if (!authorization.empty()) request.headers.push_back({"Authorization", authorization});
  HEADRACE_TRY(const HttpResponse answer, ask_service(std::move(request), ca_file, {}, limits));
  if (!answer.is_success())
    return Error{Code::kUnauthenticated, concat(url.endpoint.text(), " answers with status ", answer.status)};
  return parse_credentials_json(as_text(answer.body), CredentialsForm::kService);
}

}  // namespace

Result<std::optional<CredentialsSource>> container_source(const Environment& environment,
                                                          const std::string& ca_file) {
  const auto relative = environment.get(kRelative), full = environment.get(kFull);
  if (!relative && !full) return std::optional<CredentialsSource>();
  const std::string_view name = relative ? kRelative : kFull;
  Result<ServiceUrl> url = parse_service_url(relative ? concat("http://169.254.170.2", *relative) : *full);
  if (!url) return std::move(url).error().in(concat("s3: ", name));
  const bool is_link_local = std::ranges::find(kLinkLocal, url->endpoint.host) != kLinkLocal.end();
  if (!is_link_local && !is_confidential(url->endpoint)) {
    return Error{Code::kInvalidArgument,
                 concat("s3: ", name, " names ", url->endpoint.host,
                        " without TLS: keys would be sent unencrypted; it must begin with https://")};
  }
  return std::optional(CredentialsSource{
      .name = std::string(name), .fetch = [url = *url, environment, ca_file](const FetchLimits& limits) {
        return fetch(url, environment, ca_file, limits);
      }});
}

}  // namespace headrace

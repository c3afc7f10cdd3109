#include "headrace/store/s3/credentials/sts.h"

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/credentials/answers.h"
#include "headrace/store/s3/credentials/service.h"
#include "headrace/store/s3/credentials/sigv4.h"

namespace headrace {
namespace {

QueryParameters parameters_of(std::string_view action, const Role& role) {
  QueryParameters parameters = {{"Action", std::string(action)},
                                {"Version", "2011-06-15"},
                                {"RoleArn", role.arn},
                                {"RoleSessionName", role.session_name}};
  if (!role.external_id.empty()) parameters.emplace_back("ExternalId", role.external_id);
  if (role.duration_s) parameters.emplace_back("DurationSeconds", concat(*role.duration_s));
  return parameters;
}

Result<S3Credentials> ask_sts(const StsService& sts, const Role& role, std::string_view action,
                              const HttpHeaders& headers, const std::string& body,
                              const FetchLimits& limits) {
  const std::string doing = concat("assuming the role ", role.arn, " at ", sts.endpoint.text());
  if (!is_confidential(sts.endpoint)) {
    return Error{Code::kInvalidArgument, concat(doing, ": keys would be sent unencrypted; ",
                                                sts.endpoint_source, " must begin with https://")};
  }
  HttpRequest request{.endpoint = sts.endpoint,
                      .method = "POST",
                      .target = concat(sts.endpoint.base_path, '/'),
                      .headers = headers,
                      .body = as_bytes(body)};
  Result<HttpResponse> answer = ask_service(std::move(request), sts.ca_file, sts.proxies, limits);
  if (!answer) return std::move(answer).error().in(doing);
  const std::string_view text = as_text(answer->body);
  if (!answer->is_success())
    return Error{asks_for_retry(*answer) ? Code::kUnavailable : Code::kUnauthenticated,
                 concat(doing, ": [", answer->status, ' ', parse_sts_error(text), "]")};
  Result<S3Credentials> credentials = parse_sts_credentials(text, action);
  if (!credentials) return std::move(credentials).error().in(doing);
  return credentials;
}

constexpr std::string_view kForm = "application/x-www-form-urlencoded; charset=utf-8";

}  // namespace

Result<S3Credentials> assume_role(const StsService& sts, const Role& role, const S3Credentials& by,
                                  const FetchLimits& limits) {
  const std::string body = canonical_query(parameters_of("AssumeRole", role));
  const std::string date = format_amz_date(sts.now()), digest = sha256_hex(as_bytes(body));
  HttpHeaders headers = {
      {"Content-Type", std::string(kForm)}, {"Host", sts.endpoint.host_field()}, {"X-Amz-Date", date}};
  if (!by.session_token.empty()) headers.push_back({"X-Amz-Security-Token", by.session_token});
  const std::string path = concat(sts.endpoint.base_path, '/');
  SigV4Signer signer("sts");
  headers.push_back(
      {"Authorization", signer.authorization(by, {"POST", path, "", headers, digest}, sts.region, date)});
  return ask_sts(sts, role, "AssumeRole", headers, body, limits);
}

Result<S3Credentials> assume_role_with_web_identity(const StsService& sts, const Role& role,
                                                    const std::string& token, const FetchLimits& limits) {
  QueryParameters parameters = parameters_of("AssumeRoleWithWebIdentity", role);
  parameters.emplace_back("WebIdentityToken", token);
  return ask_sts(sts, role, "AssumeRoleWithWebIdentity", {{"Content-Type", std::string(kForm)}},
                 canonical_query(parameters), limits);
}

}  // namespace headrace

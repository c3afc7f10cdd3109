#include "headrace/store/s3/s3_options.h"

#include "headrace/base/text.h"
#include "headrace/store/s3/credentials/aws_profile.h"
#include "headrace/store/s3/credentials/chain.h"

namespace headrace {
namespace {

struct Setting {
  std::string value;
  std::string source;
};

// Returns the first of the variables that is set.
std::optional<Setting> first_of(const Environment& environment,
                                std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (auto value = environment.get(name)) return Setting{*value, std::string(name)};
  }
  return std::nullopt;
}

std::string name_of(const AwsProfile& profile) {
  return concat("profile \"", profile.name, "\" in ", profile.found_in);
}

Status take_endpoint(const Environment& environment, const AwsProfile& profile, S3Options& options) {
  auto found = first_of(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (!found) {
    if (auto url = profile.get("endpoint_url")) found = Setting{*url, name_of(profile)};
  }
  bool tls = true;
  if (!found) {
    found = first_of(environment, {"S3_ENDPOINT"});
    HEADRACE_TRY(tls, environment.is_on("S3_USE_HTTPS", true));
  }
  if (!found) return {};
  Result<HttpEndpoint> endpoint = parse_http_endpoint(found->value, tls);
  if (!endpoint) return std::move(endpoint).error().in(found->source);
  options.endpoint = *endpoint;
  options.endpoint_source = found->source;
  return {};
}

Status take_tls(const Environment& environment, const AwsProfile& profile, S3Options& options) {
  if (const auto file = first_of(environment, {"AWS_CA_BUNDLE", "S3_CA_FILE"})) {
    options.tls.ca_file = file->value;
  } else if (const auto bundle = profile.get("ca_bundle")) {
    options.tls.ca_file = *bundle;
  }
  HEADRACE_TRY(options.tls.verify, environment.is_on("S3_VERIFY_SSL", true));
  options.tls.certificate_file = environment.get("HEADRACE_S3_CLIENT_CERTIFICATE").value_or("");
  options.tls.key_file = environment.get("HEADRACE_S3_CLIENT_KEY").value_or("");
  options.tls.key_password = environment.get("HEADRACE_S3_CLIENT_KEY_PASSWORD").value_or("");
  return {};
}

Status take_region(const Environment& environment, const AwsProfile& profile, S3Options& options) {
  auto found = first_of(environment, {"AWS_REGION", "AWS_DEFAULT_REGION", "S3_REGION"});
  if (!found) {
    if (auto region = profile.get("region")) found = Setting{*region, name_of(profile)};
  }
  if (!found) return {};
  if (found->value.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
      std::string::npos) {
    return Error{Code::kInvalidArgument, concat("s3: the region (", found->source,
                                                ") contains characters other than letters, digits, - and _")};
  }
  options.region = found->value;
  options.region_source = found->source;
  return {};
}

Status take_others(const Environment& environment, const AwsProfile& profile, S3Options& options) {
  auto style = environment.get("HEADRACE_S3_ADDRESSING_STYLE");
  if (!style) style = profile.get("s3.addressing_style");
  if (style && *style != "auto") {
    if (*style != "path" && *style != "virtual") {
      return Error{Code::kInvalidArgument, "s3: the addressing style must be path, virtual or auto"};
    }
    options.addressing = *style == "path" ? S3Addressing::kPath : S3Addressing::kVirtual;
  }
  auto checksums = environment.get("AWS_REQUEST_CHECKSUM_CALCULATION");
  if (!checksums) checksums = profile.get("request_checksum_calculation");
  options.send_checksums = !checksums || to_lower(*checksums) != "when_required";
  if (environment.get("HEADRACE_S3_SIGN_PAYLOAD")) {
    HEADRACE_TRY(options.sign_payload, environment.is_on("HEADRACE_S3_SIGN_PAYLOAD"));
  }
  HEADRACE_TRY(options.probe_conditions, environment.is_on("HEADRACE_S3_PROBE_CONDITIONS", true));
  if (const auto payer = environment.get("AWS_REQUEST_PAYER")) {
    if (to_lower(*payer) != "requester")
      return Error{Code::kInvalidArgument, "s3: AWS_REQUEST_PAYER must be requester"};
    options.requester_pays = true;
  }
  return {};
}

}  // namespace

Result<S3Options> s3_options_from(const Environment& environment) {
  const AwsProfile profile = read_aws_profile(environment, selected_aws_profile(environment));
  if (const auto asked = environment.get("AWS_PROFILE"); asked && profile.found_in.empty()) {
    return Error{Code::kInvalidArgument,
                 concat("s3: no profile \"", *asked,
                        "\", which AWS_PROFILE names, in "
                        "~/.aws/credentials or ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE, "
                        "AWS_CONFIG_FILE)")};
  }
  S3Options options;
  HEADRACE_CHECK(take_endpoint(environment, profile, options));
  HEADRACE_CHECK(take_tls(environment, profile, options));
  HEADRACE_CHECK(take_region(environment, profile, options));
  HEADRACE_CHECK(take_others(environment, profile, options));
  HEADRACE_TRY(options.proxies, http_proxies_from(environment));
  HEADRACE_TRY(options.encryption, encryption_from(environment));
  HEADRACE_CHECK(check_encryption(options.encryption, options.endpoint, options.tls));
  HEADRACE_TRY(options.credentials,
               find_credentials({environment, options.region, options.tls.ca_file, options.proxies}));
  if (const auto cache = cache_folder(environment)) options.uploads_folder = *cache + "/uploads";
  options.now = environment.now;
  return options;
}

}  // namespace headrace

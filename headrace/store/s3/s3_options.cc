#include "headrace/store/s3/s3_options.h"

#include "headrace/base/text.h"
#include "headrace/store/s3/aws_profile.h"

namespace headrace {
namespace {

struct Setting {
  std::string value;
  std::string source;
};

// The first of the variables that is set.
std::optional<Setting> first_of(const Environment& environment,
                                std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (auto value = environment.get(name)) return Setting{*value, std::string(name)};
  }
  return std::nullopt;
}

Result<bool> is_on(std::string_view name, std::string_view value) {
  const std::string lower = to_lower(value);
  if (lower == "1" || lower == "true" || lower == "yes" || lower == "on") return true;
  if (lower == "0" || lower == "false" || lower == "no" || lower == "off") return false;
  return Error{Code::kInvalidArgument, concat(name, " is neither 0 nor 1")};
}

std::string profile_source(const AwsProfile& profile) {
  return concat("profile \"", profile.name, "\" in ", profile.found_in);
}

Status take_credentials(const Environment& environment, const AwsProfile& profile, S3Options& options) {
  const auto id = environment.get("AWS_ACCESS_KEY_ID");
  const auto secret = environment.get("AWS_SECRET_ACCESS_KEY");
  if (id.has_value() != secret.has_value()) {
    return Error{Code::kUnauthenticated,
                 concat("s3: ", id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY", " is set, but not ",
                        id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID")};
  }
  if (id) {
    options.credentials = S3Credentials{*id, *secret, environment.get("AWS_SESSION_TOKEN").value_or("")};
    options.credentials_source = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    return {};
  }
  const auto profile_id = profile.get("aws_access_key_id");
  const auto profile_secret = profile.get("aws_secret_access_key");
  if (profile_id && profile_secret) {
    options.credentials =
        S3Credentials{*profile_id, *profile_secret, profile.get("aws_session_token").value_or("")};
    options.credentials_source = profile_source(profile);
    return {};
  }
  if (const auto anonymous = environment.get("HEADRACE_S3_ANONYMOUS")) {
    HEADRACE_TRY(const bool on, is_on("HEADRACE_S3_ANONYMOUS", *anonymous));
    if (on) {
      options.credentials_source = "HEADRACE_S3_ANONYMOUS";
      return {};
    }
  }
  return Error{
      Code::kUnauthenticated,
      concat(
          "s3: no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile "
          "with keys in ~/.aws/credentials, or HEADRACE_S3_ANONYMOUS=1 for public buckets",
          profile.found_in.empty() ? "" : concat("; ", profile_source(profile), " holds no keys"))};
}

Status take_endpoint(const Environment& environment, const AwsProfile& profile, S3Options& options) {
  auto found = first_of(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (!found) {
    if (auto url = profile.get("endpoint_url")) found = Setting{*url, profile_source(profile)};
  }
  bool tls = true;
  if (!found) {
    found = first_of(environment, {"S3_ENDPOINT"});
    if (const auto use_https = environment.get("S3_USE_HTTPS")) {
      HEADRACE_TRY(tls, is_on("S3_USE_HTTPS", *use_https));
    }
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
  if (const auto verify = environment.get("S3_VERIFY_SSL")) {
    HEADRACE_TRY(options.tls.verify, is_on("S3_VERIFY_SSL", *verify));
  }
  return {};
}

Status take_others(const Environment& environment, const AwsProfile& profile, S3Options& options) {
  if (const auto region = first_of(environment, {"AWS_REGION", "AWS_DEFAULT_REGION", "S3_REGION"})) {
    options.region = region->value;
  } else if (const auto in_profile = profile.get("region")) {
    options.region = *in_profile;
  }
  if (options.region.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
      std::string::npos) {
    return Error{Code::kInvalidArgument,
                 "s3: the region (AWS_REGION) holds other characters than letters, digits, - and _"};
  }
  auto style = environment.get("HEADRACE_S3_ADDRESSING_STYLE");
  if (!style) style = profile.get("s3.addressing_style");
  if (style && *style != "auto") {
    if (*style != "path" && *style != "virtual") {
      return Error{Code::kInvalidArgument, "s3: the addressing style is none of path, virtual, auto"};
    }
    options.addressing = *style == "path" ? S3Addressing::kPath : S3Addressing::kVirtual;
  }
  auto checksums = environment.get("AWS_REQUEST_CHECKSUM_CALCULATION");
  if (!checksums) checksums = profile.get("request_checksum_calculation");
  options.send_checksums = !checksums || to_lower(*checksums) != "when_required";
  if (const auto sign = environment.get("HEADRACE_S3_SIGN_PAYLOAD")) {
    HEADRACE_TRY(options.sign_payload, is_on("HEADRACE_S3_SIGN_PAYLOAD", *sign));
  }
  return {};
}

}  // namespace

Result<S3Options> s3_options_from(const Environment& environment) {
  const AwsProfile profile = read_aws_profile(environment);
  if (const auto asked = environment.get("AWS_PROFILE"); asked && profile.found_in.empty()) {
    return Error{Code::kInvalidArgument,
                 concat("s3: no profile \"", *asked,
                        "\", which AWS_PROFILE names, in "
                        "~/.aws/credentials or ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE, "
                        "AWS_CONFIG_FILE)")};
  }
  S3Options options;
  HEADRACE_CHECK(take_credentials(environment, profile, options));
  HEADRACE_CHECK(take_endpoint(environment, profile, options));
  HEADRACE_CHECK(take_tls(environment, profile, options));
  HEADRACE_CHECK(take_others(environment, profile, options));
  HEADRACE_TRY(options.proxies, http_proxies_from(environment));
  options.now = environment.now;
  return options;
}

}  // namespace headrace

#include "headrace/store/s3/credentials/profile_source.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/store/s3/credentials/aws_profile.h"
#include "headrace/store/s3/credentials/service.h"
#include "headrace/store/s3/credentials/sources.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxChain = 8;

using Found = Result<std::optional<CredentialsSource>>;

Result<StsService> sts_of(const CredentialsContext& context) {
  const std::string_view suffix = context.region.starts_with("cn-") ? ".cn" : "";
  std::string url = concat("https://sts.", context.region, ".amazonaws.com", suffix), source = "the region";
  // The last variable that is set counts.
  for (const char* variable : {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS"}) {
    if (const auto value = context.environment.get(variable)) url = *value, source = variable;
  }
  Result<HttpEndpoint> endpoint = parse_http_endpoint(url);
  if (!endpoint) return std::move(endpoint).error().in(concat("s3: ", source));
  return StsService{.endpoint = *endpoint,
                    .endpoint_source = source,
                    .region = context.region,
                    .ca_file = context.ca_file,
                    .proxies = context.proxies,
                    .now = context.environment.now};
}

CredentialsSource role_source(StsService sts, Role role, CredentialsSource base, const std::string& where) {
  const auto fetch = [sts = std::move(sts), role,
                      by = std::move(base.fetch)](const FetchLimits& limits) -> Result<S3Credentials> {
    HEADRACE_TRY(const S3Credentials keys, by(limits));
    return assume_role(sts, role, keys, limits);
  };
  return {.name = concat("the role ", role.arn, " of ", where, ", assumed with keys of ", base.name),
          .fetch = fetch};
}

// Follows profiles from one to the next.
class ProfileChain {
 public:
  explicit ProfileChain(const CredentialsContext& context) : context_(context) {}

  Found source_of(const std::string& name, bool is_for_a_role);

 private:
  Found keys_of(const AwsProfile& profile) const;
  Found role_of(const AwsProfile& profile, const std::string& arn);
  Found base_of(const AwsProfile& profile);
  Result<Role> described_role(const AwsProfile& profile, const std::string& arn) const;

  const CredentialsContext& context_;
  std::vector<std::string> visited_;
};

std::string shown(const AwsProfile& profile) {
  return concat("profile \"", profile.name, "\" in ", profile.found_in);
}

Error refuse(const AwsProfile& profile, std::string_view why) {
  return {Code::kInvalidArgument, concat("s3: ", shown(profile), ": ", why)};
}

Found ProfileChain::source_of(const std::string& name, bool is_for_a_role) {
  const AwsProfile profile = read_aws_profile(context_.environment, name);
  HEADRACE_TRY(std::optional<CredentialsSource> keys, keys_of(profile));
  if (is_for_a_role && keys) return keys;
  if (const auto arn = profile.get("role_arn")) {
    if (std::ranges::find(visited_, name) != visited_.end() || visited_.size() == kMaxChain) {
      visited_.push_back(name);
      return refuse(profile,
                    concat("the chain of source_profile never reaches keys: ", join(visited_, " → ")));
    }
    visited_.push_back(name);
    return role_of(profile, *arn);
  }
  if (keys) return keys;
  if (const auto command = profile.get("credential_process"))
    return std::optional(process_source(*command, context_.environment, shown(profile)));
  if (profile.get("sso_start_url") || profile.get("sso_session")) {
    return refuse(profile, concat("SSO is not supported; in a separate profile, write credential_process = "
                                  "aws configure export-credentials --profile ",
                                  name, " --format process"));
  }
  return std::optional<CredentialsSource>();
}

Found ProfileChain::keys_of(const AwsProfile& profile) const {
  const auto id = profile.get("aws_access_key_id"), secret = profile.get("aws_secret_access_key");
  if (!id && !secret) return std::optional<CredentialsSource>();
  if (!id || !secret) {
    return Error{Code::kUnauthenticated,
                 concat("s3: ", shown(profile), " has ", id ? "aws_access_key_id" : "aws_secret_access_key",
                        " without ", id ? "aws_secret_access_key" : "aws_access_key_id")};
  }
  const S3Credentials keys{*id, *secret, profile.get("aws_session_token").value_or("")};
  return std::optional(CredentialsSource{
      .name = shown(profile), .fetch = [keys](const FetchLimits&) -> Result<S3Credentials> { return keys; }});
}

Result<Role> ProfileChain::described_role(const AwsProfile& profile, const std::string& arn) const {
  Role role{.arn = arn,
            .session_name = role_session_name(context_.environment, profile.get("role_session_name")),
            .external_id = profile.get("external_id").value_or("")};
  if (const auto duration = profile.get("duration_seconds")) {
    role.duration_s = parse_number<unsigned>(*duration);
    if (!role.duration_s) return refuse(profile, "duration_seconds is not a number");
  }
  if (profile.get("mfa_serial"))
    return refuse(profile,
                  "mfa_serial requires a code from a person, which Headrace cannot provide; use "
                  "credential_process or temporary keys");
  return role;
}

Found ProfileChain::role_of(const AwsProfile& profile, const std::string& arn) {
  HEADRACE_TRY(const Role role, described_role(profile, arn));
  if (const auto file = profile.get("web_identity_token_file")) {
    HEADRACE_TRY(CredentialsSource source, web_identity_source(context_, role, *file, shown(profile)));
    return std::optional(std::move(source));
  }
  HEADRACE_TRY(std::optional<CredentialsSource> base, base_of(profile));
  if (!base) return refuse(profile, "the source of the keys for its role_arn has no keys");
  HEADRACE_TRY(StsService sts, sts_of(context_));
  return std::optional(role_source(std::move(sts), role, *std::move(base), shown(profile)));
}

// Returns the source of the keys with which a role is assumed.
Found ProfileChain::base_of(const AwsProfile& profile) {
  const auto from_profile = profile.get("source_profile"), from = profile.get("credential_source");
  if (from_profile.has_value() == from.has_value())
    return refuse(profile,
                  "role_arn needs exactly one of source_profile, credential_source and "
                  "web_identity_token_file");
  if (from_profile) {
    if (read_aws_profile(context_.environment, *from_profile).found_in.empty())
      return refuse(profile,
                    concat("source_profile names a profile \"", *from_profile, "\" that does not exist"));
    return source_of(*from_profile, /*is_for_a_role=*/true);
  }
  if (*from == "Environment") return environment_source(context_.environment);
  if (*from == "EcsContainer") return container_source(context_.environment, context_.ca_file);
  if (*from == "Ec2InstanceMetadata") {
    HEADRACE_TRY(CredentialsSource source, instance_source(context_.environment));
    return std::optional(std::move(source));
  }
  return refuse(profile, "credential_source must be Environment, EcsContainer or Ec2InstanceMetadata");
}

}  // namespace

std::string role_session_name(const Environment& environment, const std::optional<std::string>& in_profile) {
  if (in_profile) return *in_profile;
  return environment.get("AWS_ROLE_SESSION_NAME").value_or(concat("headrace-", hex64(random_name_bits())));
}

Found environment_source(const Environment& environment) {
  const auto id = environment.get("AWS_ACCESS_KEY_ID");
  const auto secret = environment.get("AWS_SECRET_ACCESS_KEY");
  if (!id && !secret) return std::optional<CredentialsSource>();
  if (!id || !secret) {
    return Error{Code::kUnauthenticated,
                 concat("s3: ", id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY", " is set, but not ",
                        id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID")};
  }
  const S3Credentials keys{*id, *secret, environment.get("AWS_SESSION_TOKEN").value_or("")};
  return std::optional(
      CredentialsSource{.name = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                        .fetch = [keys](const FetchLimits&) -> Result<S3Credentials> { return keys; },
                        .is_renewable = false});
}

Result<CredentialsSource> web_identity_source(const CredentialsContext& context, Role role,
                                              std::string token_file, std::string name) {
  HEADRACE_TRY(const StsService sts, sts_of(context));
  const auto fetch = [sts, role = std::move(role),
                      file = std::move(token_file)](const FetchLimits& limits) -> Result<S3Credentials> {
    HEADRACE_TRY(const std::string token, read_token_file(file));
    return assume_role_with_web_identity(sts, role, token, limits);
  };
  return CredentialsSource{.name = std::move(name), .fetch = fetch};
}

Found profile_source(const CredentialsContext& context, const std::string& profile) {
  HEADRACE_TRY(std::optional<CredentialsSource> source, ProfileChain(context).source_of(profile, false));
  if (!source) return std::optional<CredentialsSource>();
  // The files are read again each time, because key rotation replaces them.
  const auto fetch = [context, profile](const FetchLimits& limits) -> Result<S3Credentials> {
    HEADRACE_TRY(const std::optional<CredentialsSource> now, ProfileChain(context).source_of(profile, false));
    if (!now) return Error{Code::kUnauthenticated, "the profile no longer contains any"};
    return now->fetch(limits);
  };
  return std::optional(CredentialsSource{.name = source->name, .fetch = fetch});
}

}  // namespace headrace

#include "headrace/store/s3/credentials/chain.h"

#include "headrace/base/text.h"
#include "headrace/store/s3/credentials/aws_profile.h"
#include "headrace/store/s3/credentials/profile_source.h"
#include "headrace/store/s3/credentials/sources.h"

namespace headrace {
namespace {

using Found = Result<std::optional<CredentialsSource>>;

Found from_environment(const CredentialsContext& context) { return environment_source(context.environment); }

Found from_profile(const CredentialsContext& context) {
  return profile_source(context, selected_aws_profile(context.environment));
}

bool is_profile_asked_for(const CredentialsContext& context) {
  return context.environment.get("AWS_PROFILE").has_value();
}

Found from_web_identity(const CredentialsContext& context) {
  const Environment& environment = context.environment;
  const auto file = environment.get("AWS_WEB_IDENTITY_TOKEN_FILE"), arn = environment.get("AWS_ROLE_ARN");
  if (!file) return std::optional<CredentialsSource>();
  if (!arn)
    return Error{Code::kUnauthenticated, "s3: AWS_WEB_IDENTITY_TOKEN_FILE is set, but not AWS_ROLE_ARN"};
  const Role role{.arn = *arn, .session_name = role_session_name(environment, std::nullopt)};
  HEADRACE_TRY(CredentialsSource source,
               web_identity_source(context, role, *file, "AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN"));
  return std::optional(std::move(source));
}

Found from_container(const CredentialsContext& context) {
  return container_source(context.environment, context.ca_file);
}

Found from_instance(const CredentialsContext& context) {
  HEADRACE_TRY(const bool is_asked_for, context.environment.is_on("HEADRACE_S3_INSTANCE_CREDENTIALS"));
  if (!is_asked_for) return std::optional<CredentialsSource>();
  HEADRACE_TRY(CredentialsSource source, instance_source(context.environment));
  return std::optional(std::move(source));
}

}  // namespace

Result<std::shared_ptr<CredentialsProvider>> find_credentials(const CredentialsContext& context) {
  HEADRACE_TRY(const bool is_anonymous, context.environment.is_on("HEADRACE_S3_ANONYMOUS"));
  Status unusable_profile;
  for (const auto from : {from_environment, from_profile, from_web_identity, from_container, from_instance}) {
    const bool is_unasked = from == from_profile && !is_profile_asked_for(context);
    if (is_unasked && is_anonymous) continue;
    Found source = from(context);
    if (!source && is_unasked) {
      unusable_profile = std::move(source).error();
      continue;
    }
    if (!source) return std::move(source).error();
    if (*source) return std::make_shared<CredentialsProvider>(**std::move(source), context.environment.now);
  }
  if (is_anonymous) return std::shared_ptr<CredentialsProvider>();
  if (!unusable_profile) return unusable_profile.error();
  const AwsProfile profile = read_aws_profile(context.environment, selected_aws_profile(context.environment));
  return Error{
      Code::kUnauthenticated,
      concat(
          "s3: no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile "
          "with keys in ~/.aws/credentials, or HEADRACE_S3_INSTANCE_CREDENTIALS=1 to use the role of an EC2 "
          "instance, or HEADRACE_S3_ANONYMOUS=1 for public buckets",
          profile.found_in.empty()
              ? ""
              : concat("; profile \"", profile.name, "\" in ", profile.found_in, " holds no keys"))};
}

}  // namespace headrace

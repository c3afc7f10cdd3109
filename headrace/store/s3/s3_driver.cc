#include "headrace/store/s3/s3_driver.h"

#include "headrace/base/text.h"
#include "headrace/store/s3/presign.h"
#include "headrace/store/s3/s3_examine.h"
#include "headrace/store/s3/s3_options.h"
#include "headrace/store/s3/s3_store.h"

namespace headrace {
namespace {

constexpr int kAttemptsOfExamination = 3;

constexpr Option kS3OptionTable[] = {
    {.name = "endpoint-url",
     .unit = "URL",
     .sentence = "The server; default: Amazon S3 at the region's endpoint.",
     .variable = "AWS_ENDPOINT_URL_S3"},
    {.name = "access-key-id",
     .sentence = "The access key ID, used instead of keys in the environment or a profile.",
     .variable = "AWS_ACCESS_KEY_ID"},
    {.name = "secret-access-key",
     .sentence = "The secret key of access_key_id.",
     .variable = "AWS_SECRET_ACCESS_KEY"},
    {.name = "session-token",
     .sentence = "The session token of temporary keys.",
     .variable = "AWS_SESSION_TOKEN"},
    {.name = "region", .sentence = "The bucket's region; default: us-east-1.", .variable = "AWS_REGION"},
    {.name = "verify-tls",
     .sentence = "false: do not check the server's certificate.",
     .choices = "true|false",
     .variable = "S3_VERIFY_SSL"},
    {.name = "anonymous",
     .sentence = "true: do not sign requests, for public buckets; no profile is read.",
     .choices = "true|false",
     .variable = "HEADRACE_S3_ANONYMOUS"},
    {.name = "client-certificate",
     .unit = "FILE",
     .sentence = "PEM file of the certificate that is shown to a server that asks for one.",
     .variable = "HEADRACE_S3_CLIENT_CERTIFICATE"},
    {.name = "client-key",
     .unit = "FILE",
     .sentence = "PEM file of its key, unless client_certificate also contains the key.",
     .variable = "HEADRACE_S3_CLIENT_KEY"},
    {.name = "client-key-password",
     .sentence = "The password of that key, if the key is encrypted.",
     .variable = "HEADRACE_S3_CLIENT_KEY_PASSWORD"},
};

constexpr DriverVariable kS3Variables[] = {
    {"AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE", "The profile with keys and settings."},
    {"AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME", "A role, and how to assume it."},
    {"AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL",
     "The STS endpoint for assuming the role; AWS_ENDPOINT_URL also names the server."},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_CREDENTIALS_FULL_URI",
     "Where a container gets its keys."},
    {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, AWS_CONTAINER_AUTHORIZATION_TOKEN",
     "The token that it sends to that address."},
    {"HEADRACE_S3_INSTANCE_CREDENTIALS", "1: use the keys of the EC2 instance's role."},
    {"AWS_EC2_METADATA_SERVICE_ENDPOINT, AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
     "The instance metadata endpoint; IPv6."},
    {"S3_ENDPOINT, S3_USE_HTTPS", "The server as host:port; S3_USE_HTTPS=0: plain HTTP."},
    {"AWS_DEFAULT_REGION, S3_REGION", "The region, if AWS_REGION is not set."},
    {"AWS_CA_BUNDLE, S3_CA_FILE", "Certificate authorities to trust instead of the system's."},
    {"HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "Proxies, and the hosts that are reached without one."},
    {"HEADRACE_S3_ADDRESSING_STYLE", "path, virtual or auto."},
    {"AWS_REQUEST_CHECKSUM_CALCULATION", "when_required: send no checksums."},
    {"HEADRACE_S3_PROBE_CONDITIONS", "0: do not find out whether the server honours conditional writes."},
    {"HEADRACE_S3_SIGN_PAYLOAD", "1, 0: whether signatures cover bodies."},
    {"HEADRACE_S3_SSE, HEADRACE_S3_SSE_KMS_KEY_ID", "Encryption by the server, and its key in KMS."},
    {"HEADRACE_S3_SSE_CUSTOMER_KEY_FILE, HEADRACE_S3_SSE_CUSTOMER_KEY",
     "Your own key for encryption by the server."},
    {"AWS_REQUEST_PAYER", "requester: the sender pays for the requests."},
};

// An anonymous client has no keys, so every source of keys is hidden.
constexpr std::string_view kSourcesOfKeys[] = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "HEADRACE_S3_INSTANCE_CREDENTIALS",
};

Status check_keys(const OptionValues& given, Environment& environment) {
  const bool has_id = given.given("access-key-id");
  const bool has_secret = given.given("secret-access-key");
  if (has_id != has_secret || (given.given("session-token") && !has_id)) {
    return Error{Code::kInvalidArgument,
                 "give access_key_id and secret_access_key together, or neither of them"};
  }
  const bool is_anonymous = given.shown("anonymous") == "true";
  if (has_id && is_anonymous)
    return Error{
        Code::kInvalidArgument,
        "anonymous=True sends requests without keys, but keys are given, too; give only one of them"};
  if (has_id) environment.variables.insert_or_assign("AWS_SESSION_TOKEN", "");
  if (is_anonymous) {
    for (const std::string_view name : kSourcesOfKeys)
      environment.variables.insert_or_assign(std::string(name), "");
    for (const char* file : {"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"})
      environment.variables.insert_or_assign(file, "/dev/null");
  }
  return {};
}

Result<OpenedStore> open_bucket(const Url& url, const Environment& environment) {
  HEADRACE_TRY(const S3Options options, s3_options_from(environment));
  OpenedStore opened{open_s3_store(url.authority, options)};
  // Without an endpoint it is AWS, where a bucket's name is unique.
  if (options.endpoint) opened.server = options.endpoint->text();
  if (!options.tls.verify && (!options.endpoint || options.endpoint->tls)) {
    opened.warning = concat("s3://", url.authority,
                            ": the server's certificate is not checked (S3_VERIFY_SSL); anyone on the "
                            "network path can read and change everything");
  }
  return opened;
}

Result<S3Options> options_of_examination(const Environment& environment) {
  HEADRACE_TRY(S3Options options, s3_options_from(environment));
  options.max_attempts = kAttemptsOfExamination;
  options.outlasts_outages = false;
  return options;
}

bool examine_bucket(const Url& url, const Environment& environment, const CallOptions& call,
                    const Report& report) {
  const Result<S3Options> options = options_of_examination(environment);
  if (options) return examine_s3(url.authority, *options, call, report);
  report({"settings", Finding::Outcome::kFailure, options.error().message,
          "docs/environment.md lists the variables; docs/credentials.md says where keys may come from"});
  return false;
}

void examine_writes_of_s3(const Url& url, std::string_view folder, const Environment& environment,
                          const CallOptions& call, const Report& report) {
  const Result<S3Options> options = options_of_examination(environment);
  if (!options) return;
  examine_s3_checksums(url.authority, folder, *options, call, report);
  examine_s3_completions(url.authority, folder, *options, call, report);
}

Result<PresignedUrl> presign_object(const Url& url, const Environment& environment,
                                    const PresignOptions& options, const std::stop_token& stop) {
  HEADRACE_TRY(const S3Options s3, s3_options_from(environment));
  return presign(url.authority, url.path, s3, options, stop);
}

}  // namespace

const StoreDriver kS3Driver = {
    .scheme = "s3",
    .example = "s3://bucket/key",
    .summary = "Buckets of Amazon S3, MinIO and other servers that speak its API",
    .details =
        "docs/reference/stores.md says which servers were tested, docs/credentials.md which keys are used.",
    .options = kS3OptionTable,
    .variables = kS3Variables,
    .open = open_bucket,
    .check_options = check_keys,
    .examine = examine_bucket,
    .examine_own_writes = examine_writes_of_s3,
    .presign = presign_object};

}  // namespace headrace

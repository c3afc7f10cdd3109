#include "headrace/store/s3/s3_errors.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"

namespace headrace {
namespace {

struct Meaning {
  std::string_view s3_code;
  Code code;
  // Advice; "$endpoint", "$credentials", "$bucket" and other names are replaced by values. Empty if there is
  // none.
  std::string_view advice;
};

constexpr std::array kMeanings = {
    Meaning{"NoSuchKey", Code::kNotFound, "there is no such object"},
    Meaning{"NotFound", Code::kNotFound, "there is no such object"},
    Meaning{"NoSuchVersion", Code::kNotFound, "there is no such version"},
    Meaning{"NoSuchBucket", Code::kFailedPrecondition,
            "there is no bucket \"$bucket\" at $endpoint; create it, or check its name and $endpoint_source"},
    Meaning{"InvalidBucketName", Code::kInvalidArgument, "\"$bucket\" is not a valid bucket name"},
    Meaning{"AccessDenied", Code::kPermissionDenied,
            "these credentials ($credentials) have no right to do this; ask the owner of the bucket"},
    Meaning{"AllAccessDisabled", Code::kPermissionDenied, "the bucket is disabled"},
    Meaning{"InvalidAccessKeyId", Code::kUnauthenticated,
            "$endpoint does not know this access key id; check $credentials and $endpoint_source"},
    Meaning{"SignatureDoesNotMatch", Code::kUnauthenticated,
            "the secret key does not belong to the access key id; check $credentials"},
    Meaning{"ExpiredToken", Code::kUnauthenticated,
            "the session token has expired; renew $credentials and AWS_SESSION_TOKEN"},
    Meaning{"InvalidToken", Code::kUnauthenticated,
            "the session token is not valid; check AWS_SESSION_TOKEN"},
    Meaning{"TokenRefreshRequired", Code::kUnauthenticated,
            "the session token must be renewed (AWS_SESSION_TOKEN)"},
    Meaning{"RequestTimeTooSkewed", Code::kUnauthenticated,
            "this machine's clock and the server's are more than 15 minutes apart; set the clock"},
    Meaning{"RequestExpired", Code::kUnauthenticated,
            "the request took too long, or this machine's clock is wrong"},
    Meaning{"AuthorizationHeaderMalformed", Code::kUnauthenticated,
            "check the region (AWS_REGION) and $credentials"},
    Meaning{"PermanentRedirect", Code::kFailedPrecondition,
            "the bucket is in another region; set AWS_REGION"},
    Meaning{"TemporaryRedirect", Code::kUnavailable, "the bucket is moving; try again, or set AWS_REGION"},
    Meaning{"InvalidObjectState", Code::kFailedPrecondition, "the object is archived; restore it first"},
    Meaning{"PreconditionFailed", Code::kFailedPrecondition, "the object is not the expected version"},
    Meaning{"ConditionalRequestConflict", Code::kAborted, "another write to the object was under way"},
    Meaning{"OperationAborted", Code::kAborted, "another operation on the bucket was under way"},
    Meaning{"NoSuchUpload", Code::kAborted,
            "the upload no longer exists: it was completed, aborted or has expired"},
    Meaning{"BadDigest", Code::kDataLoss, "the server did not receive the bytes that were sent"},
    Meaning{"XAmzContentChecksumMismatch", Code::kDataLoss,
            "the server did not receive the bytes that were sent"},
    Meaning{"XAmzContentSHA256Mismatch", Code::kDataLoss,
            "the server did not receive the bytes that were sent"},
    Meaning{"KeyTooLongError", Code::kInvalidArgument, "the key is too long for this server"},
    Meaning{"EntityTooLarge", Code::kInvalidArgument, "the object is larger than this server allows"},
    Meaning{"NotImplemented", Code::kUnimplemented,
            "the server lacks this feature; if it is the checksum, set "
            "AWS_REQUEST_CHECKSUM_CALCULATION=when_required"},
    Meaning{"MethodNotAllowed", Code::kUnimplemented, "is $endpoint ($endpoint_source) an S3 endpoint?"},
    Meaning{"XMinioStorageFull", Code::kResourceExhausted, "the server's disks are full"},
    Meaning{"QuotaExceeded", Code::kResourceExhausted, "the quota of the bucket is used up"},
    Meaning{"XMinioAdminBucketQuotaExceeded", Code::kResourceExhausted, "the quota of the bucket is used up"},
    Meaning{"XMinioParentIsObject", Code::kFailedPrecondition,
            "an object already has the name of a folder in this key"},
    Meaning{"ObjectParentIsFile", Code::kFailedPrecondition,
            "an object already has the name of a folder in this key"},
    Meaning{"ExistingObjectIsDirectory", Code::kFailedPrecondition,
            "there are objects below this key, so it is a folder"},
};

constexpr std::array<std::string_view, 9> kTransient = {
    "SlowDown",      "SlowDownRead",       "SlowDownWrite",
    "InternalError", "ServiceUnavailable", "RequestTimeout",
    "Throttling",    "RequestThrottled",   "XMinioServerNotInitialized"};

Code code_of_status(int status) {
  switch (status) {
    case 400:
      return Code::kInvalidArgument;
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 408:
    case 429:
      return Code::kUnavailable;
    case 409:
      return Code::kAborted;
    case 412:
      return Code::kFailedPrecondition;
    case 416:
      return Code::kOutOfRange;
    case 501:
      return Code::kUnimplemented;
    case 507:
      return Code::kResourceExhausted;
    default:
      return status >= 500 ? Code::kUnavailable : Code::kUnknown;
  }
}

std::string filled_in(std::string_view advice, const S3ErrorContext& context) {
  std::string out(advice);
  const auto replace = [&](std::string_view name, std::string_view value) {
    for (std::size_t at = 0; (at = out.find(name, at)) != std::string::npos; at += value.size()) {
      out.replace(at, name.size(), value);
    }
  };
  replace("$endpoint_source", context.endpoint_source);
  replace("$endpoint", context.endpoint);
  replace("$credentials", context.credentials_source);
  replace("$bucket", context.bucket);
  return out;
}

}  // namespace

Error s3_error(int status, std::string_view code, std::string_view message, const S3ErrorContext& context) {
  const auto* meaning = std::ranges::find(kMeanings, code, &Meaning::s3_code);
  const bool known = meaning != kMeanings.end();
  std::string text = known ? filled_in(meaning->advice, context) : "";
  if (!context.signed_by_us && (status == 401 || status == 403)) {
    text = "the request was anonymous; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  }
  if (is_transient_s3_code(code) || status >= 500) {
    text = concat(text.empty() ? "the server is overloaded or failing" : text, " (", context.endpoint, ")");
  }
  return {known                        ? meaning->code
          : is_transient_s3_code(code) ? Code::kUnavailable
                                       : code_of_status(status),
          concat(text, text.empty() ? "" : " ", "[", status, ' ', code, message.empty() ? "" : ": ", message,
                 "]")};
}

std::string s3_code_of_status(int status) {
  switch (status) {
    case 301:
      return "PermanentRedirect";
    case 307:
      return "TemporaryRedirect";
    case 403:
      return "AccessDenied";
    case 404:
      return "NotFound";
    case 405:
      return "MethodNotAllowed";
    case 412:
      return "PreconditionFailed";
    case 416:
      return "InvalidRange";
    case 501:
      return "NotImplemented";
    case 503:
      return "ServiceUnavailable";
    default:
      return concat("HttpStatus", status);
  }
}

bool is_transient_s3_code(std::string_view code) {
  return std::ranges::find(kTransient, code) != kTransient.end();
}

}  // namespace headrace

#include "headrace/store/s3/s3_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::Not;

const S3ErrorContext kContext{.endpoint = "http://minio:9000",
                              .endpoint_source = "S3_ENDPOINT",
                              .credentials_source = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                              .bucket = "data"};

TEST(S3Errors, SayWhatToDo) {
  EXPECT_THAT(
      s3_error(404, "NoSuchBucket", "", kContext).message,
      HasSubstr("no bucket \"data\" at http://minio:9000; create it, or check its name and S3_ENDPOINT"));
  EXPECT_THAT(s3_error(403, "InvalidAccessKeyId", "", kContext).message,
              HasSubstr("check AWS_ACCESS_KEY_ID"));
  EXPECT_THAT(s3_error(403, "RequestTimeTooSkewed", "", kContext).message, HasSubstr("set the clock"));
  EXPECT_THAT(s3_error(507, "XMinioStorageFull", "", kContext).message, HasSubstr("disks are full"));
  S3ErrorContext anonymous = kContext;
  anonymous.signed_by_us = false;
  EXPECT_THAT(s3_error(403, "AccessDenied", "", anonymous).message,
              HasSubstr("was anonymous; set AWS_ACCESS_KEY_ID"));
}

TEST(S3Errors, KeepTheServersOwnWords) {
  EXPECT_THAT(s3_error(418, "Teapot", "short and stout", kContext).message,
              HasSubstr("[418 Teapot: short and stout]"));
}

TEST(S3Errors, FillInEveryName) {
  for (const char* code : {"NoSuchBucket", "InvalidBucketName", "AccessDenied", "InvalidAccessKeyId",
                           "ExpiredToken", "AuthorizationHeaderMalformed", "MethodNotAllowed", "SlowDown"}) {
    EXPECT_THAT(s3_error(400, code, "", kContext).message, Not(HasSubstr("$"))) << code;
  }
}

TEST(S3Errors, CodesOfS3HaveTheMeaningThatCallersActOn) {
  const std::map<Code, std::vector<std::string>> meanings = {
      {Code::kNotFound, {"NoSuchKey", "NotFound", "NoSuchVersion"}},
      {Code::kPermissionDenied, {"AccessDenied", "AllAccessDisabled"}},
      {Code::kUnauthenticated,
       {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
        "RequestTimeTooSkewed", "RequestExpired", "AuthorizationHeaderMalformed"}},
      {Code::kFailedPrecondition,
       {"NoSuchBucket", "PermanentRedirect", "InvalidObjectState", "PreconditionFailed",
        "XMinioParentIsObject", "ObjectParentIsFile", "ExistingObjectIsDirectory"}},
      {Code::kAborted, {"ConditionalRequestConflict", "OperationAborted", "NoSuchUpload"}},
      {Code::kDataLoss, {"BadDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"}},
      {Code::kInvalidArgument, {"InvalidBucketName", "KeyTooLongError", "EntityTooLarge"}},
      {Code::kUnimplemented, {"NotImplemented", "MethodNotAllowed"}},
      {Code::kResourceExhausted, {"XMinioStorageFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded"}},
      {Code::kUnavailable,
       {"TemporaryRedirect", "SlowDown", "SlowDownRead", "SlowDownWrite", "InternalError",
        "ServiceUnavailable", "RequestTimeout", "Throttling", "RequestThrottled",
        "XMinioServerNotInitialized"}},
  };
  for (const auto& [code, names] : meanings) {
    for (const std::string& name : names)
      EXPECT_EQ(static_cast<int>(s3_error(418, name, "", kContext).code), static_cast<int>(code)) << name;
  }
}

TEST(S3Errors, UnknownCodesAreJudgedByTheirStatus) {
  const std::map<int, Code> meanings = {
      {399, Code::kUnknown},          {400, Code::kInvalidArgument},    {401, Code::kUnauthenticated},
      {403, Code::kPermissionDenied}, {404, Code::kNotFound},           {408, Code::kUnavailable},
      {409, Code::kAborted},          {412, Code::kFailedPrecondition}, {416, Code::kOutOfRange},
      {418, Code::kUnknown},          {429, Code::kUnavailable},        {499, Code::kUnknown},
      {500, Code::kUnavailable},      {501, Code::kUnimplemented},      {503, Code::kUnavailable},
      {507, Code::kResourceExhausted}};
  for (const auto& [status, code] : meanings)
    EXPECT_EQ(static_cast<int>(s3_error(status, "New", "", kContext).code), static_cast<int>(code)) << status;
}

TEST(S3Errors, OnlyAnAnonymousRequestThatWasRefusedIsToldToSign) {
  S3ErrorContext anonymous = kContext;
  anonymous.signed_by_us = false;
  const std::string advice = "was anonymous";
  EXPECT_THAT(s3_error(401, "New", "", anonymous).message, HasSubstr(advice));
  EXPECT_THAT(s3_error(404, "New", "", anonymous).message, Not(HasSubstr(advice)));
  EXPECT_THAT(s3_error(403, "AccessDenied", "", kContext).message, Not(HasSubstr(advice)));
}

TEST(S3Errors, AFailingServerIsNamed) {
  EXPECT_THAT(s3_error(500, "New", "", kContext).message,
              HasSubstr("the server is overloaded or failing (http://minio:9000)"));
  EXPECT_THAT(s3_error(400, "SlowDown", "", kContext).message, HasSubstr("(http://minio:9000)"));
  EXPECT_THAT(s3_error(400, "New", "", kContext).message, Not(HasSubstr("overloaded")));
}

TEST(S3Errors, AStatusWithoutBodyHasACode) {
  const std::map<int, std::string> codes = {
      {301, "PermanentRedirect"}, {307, "TemporaryRedirect"},  {403, "AccessDenied"}, {404, "NotFound"},
      {405, "MethodNotAllowed"},  {412, "PreconditionFailed"}, {416, "InvalidRange"}, {499, "HttpStatus499"},
      {501, "NotImplemented"},    {503, "ServiceUnavailable"}};
  for (const auto& [status, code] : codes) EXPECT_EQ(s3_code_of_status(status), code);
}

}  // namespace
}  // namespace headrace

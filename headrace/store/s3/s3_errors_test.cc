#include "headrace/store/s3/s3_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(S3Errors, UnknownCodesAreJudgedByTheirStatus) {
  EXPECT_EQ(s3_error(400, "New", "", kContext).code, Code::kInvalidArgument);
  EXPECT_EQ(s3_error(403, "New", "", kContext).code, Code::kPermissionDenied);
  EXPECT_EQ(s3_error(404, "New", "", kContext).code, Code::kNotFound);
  EXPECT_EQ(s3_error(500, "New", "", kContext).code, Code::kUnavailable);
  EXPECT_EQ(s3_error(501, "New", "", kContext).code, Code::kUnimplemented);
  EXPECT_EQ(s3_error(418, "New", "", kContext).code, Code::kUnknown);
  EXPECT_EQ(s3_error(200, "InternalError", "", kContext).code, Code::kUnavailable);
}

TEST(S3Errors, AStatusWithoutBodyHasACode) {
  EXPECT_EQ(s3_code_of_status(404), "NotFound");
  EXPECT_EQ(s3_code_of_status(499), "HttpStatus499");
}

}  // namespace
}  // namespace headrace

#pragma once

/// \file The meaning of S3's error codes for the caller, and what to do about them. Internal to the driver.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html

#include <string>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace {

struct S3ErrorContext {
  std::string endpoint;
  std::string endpoint_source;
  std::string credentials_source;
  std::string bucket;
  bool signed_by_us = true;
};

/// `message` is the server's own, already cleaned.
Error s3_error(int status, std::string_view code, std::string_view message, const S3ErrorContext& context);

/// For answers without a body, such as those to HEAD: "NotFound", "PreconditionFailed", "HttpStatus418".
std::string s3_code_of_status(int status);

/// True if the server asks for a retry, whatever the status says.
bool is_transient_s3_code(std::string_view code);

}  // namespace headrace

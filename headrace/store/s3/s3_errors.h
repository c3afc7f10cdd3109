#pragma once

/// \file Translates S3's error codes into errors that say what to do. Internal to the driver.
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

/// Makes an error from an answer. `message` is the server's own, already cleaned for printing.
Error s3_error(int status, std::string_view code, std::string_view message, const S3ErrorContext& context);

/// A code for answers without a body, such as those to HEAD: "NotFound", "PreconditionFailed",
/// "HttpStatus418".
std::string s3_code_of_status(int status);

/// True if the server asks for a retry, whatever the status says.
bool is_transient_s3_code(std::string_view code);

}  // namespace headrace

#include <algorithm>
#include <cstdlib>

#include "headrace/base/environment.h"
#include "headrace/base/iso_time.h"
#include "headrace/store/s3/credentials/answers.h"
#include "headrace/store/s3/credentials/aws_profile.h"

namespace {

void check_keys(const headrace::Result<headrace::S3Credentials>& keys, std::string_view input) {
  if (!keys) {
    // The error quotes only a service's reason, and not much of it.
    if (keys.error().message.size() > 400) std::abort();
    return;
  }
  for (const std::string& text : {keys->access_key_id, keys->secret_access_key, keys->session_token}) {
    if (text.size() > input.size()) std::abort();
    // They go into header fields.
    if (std::ranges::any_of(text, [](char c) { return c <= ' ' || c > '~'; })) std::abort();
  }
  if (keys->access_key_id.empty() || keys->secret_access_key.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_keys(parse_credentials_json(input, CredentialsForm::kProcess), input);
  check_keys(parse_credentials_json(input, CredentialsForm::kService), input);
  check_keys(parse_sts_credentials(input, "AssumeRole"), input);
  const std::string reason = parse_sts_error(input);
  if (std::ranges::any_of(reason, [](char c) { return static_cast<unsigned char>(c) < ' '; })) std::abort();
  if (const auto time = parse_iso_time(input.substr(0, 40))) {
    if (parse_iso_time(format_time(*time)) != std::chrono::floor<std::chrono::seconds>(*time)) std::abort();
  }
  for (const char* section : {"default", "profile x"}) {
    const auto settings = parse_aws_section(input, section);
    if (!settings) continue;
    for (const auto& [name, value] : *settings) {
      if (value.size() > size || name.size() > 2 * size) std::abort();
      if (value.find('\n') != std::string::npos) std::abort();
    }
  }
  return 0;
}

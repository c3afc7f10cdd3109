#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/os/child_process.h"
#include "headrace/store/s3/credentials/answers.h"
#include "headrace/store/s3/credentials/sources.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxErrorTextBytes = 300;
constexpr std::size_t kLongWordBytes = 32;  // no secret key is shorter than 40

// Returns the last line that is not empty, without words that may be keys or tokens.
std::string reason_in(std::string_view errors) {
  const std::string_view text = trim(errors);
  const std::size_t line_end = text.find_last_of("\r\n");
  std::string reason;
  for (const std::string& word : split(text.substr(line_end == text.npos ? 0 : line_end + 1), ' '))
    reason += concat(reason.empty() ? "" : " ", word.size() < kLongWordBytes ? word : "…");
  return printable_line(reason, kMaxErrorTextBytes);
}

Result<S3Credentials> fetch(const std::string& command, const Environment& environment,
                            const FetchLimits& limits) {
  HEADRACE_TRY(
      const ChildResult child,
      run_child({"/bin/sh", "-c", command}, environment.variables,
                {.deadline = limits.patience, .output_bytes_max = kMaxAnswerBytes, .stop = limits.stop}));
  if (child.exit_status != 0) {
    const std::string reason = reason_in(child.error_tail);
    return Error{Code::kUnauthenticated,
                 concat("it ended with status ", child.exit_status, reason.empty() ? "" : ": ", reason)};
  }
  return parse_credentials_json(child.output, CredentialsForm::kProcess);
}

}  // namespace

CredentialsSource process_source(std::string command, const Environment& environment, std::string name) {
  const auto run = [command = std::move(command),
                    environment](const FetchLimits& limits) -> Result<S3Credentials> {
    Result<S3Credentials> credentials = fetch(command, environment, limits);
    if (!credentials) return std::move(credentials).error().in("credential_process");
    return credentials;
  };
  return {.name = std::move(name), .fetch = run};
}

}  // namespace headrace
